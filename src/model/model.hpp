// A loaded vision model: what a picture becomes, its preparation, and the forward pass of a packed
// batch. Thread-safe after load: prepare() may run on many threads, forward() on one thread a
// scratch.
#pragma once

#include "attention/backend.hpp"
#include "ops/exec.hpp"
#include "tensor/arena.hpp"

#include <foveal/encoder.hpp>
#include <foveal/error.hpp>
#include <foveal/image.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foveal {

struct LoadOptions {
  std::string model;  // folder or org/name[@revision]
  EncoderOptions encoder;
  Exec exec;
  Machine machine;
  std::span<const Backend> backends;
  std::string attention_backend;  // forced name, or empty
};

// A picture ready for the tower: resized and cropped bytes, not yet normalised.
struct PreparedImage {
  std::string name;
  Image pixels;
  ImageTokens tokens;
};

struct ForwardRequest {
  std::vector<std::string> outputs;   // expanded names, each one of info().outputs
  std::optional<std::int64_t> layer;  // as EmbedOptions
  Normalize normalize = Normalize::kNo;
};

class Model {
 public:
  static Result<Model> load(const LoadOptions& options);
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;
  ~Model();

  const ModelInfo& info() const;
  // height, width: pixels after EXIF orientation. Cheap; reads no pixels.
  Result<ImageTokens> tokens_for(int height, int width, std::string_view name) const;
  // What prepare() resizes a picture of this size to, before any crop; nullopt where it does not.
  std::optional<ImageSize> resized_size(ImageSize size) const;
  // Resize and crop as the preprocessor says.
  Result<PreparedImage> prepare(const Image& image, std::string_view name) const;
  // One packed forward over the batch. results[i].outputs are filled for images[i].
  Status forward(std::span<const PreparedImage> images, const ForwardRequest& request, Arena& arena,
                 std::span<ImageResult> results) const;
  // JSON object of what decides the numbers: family, weights (names, shapes, dtypes and a digest of
  // 64 KiB of each used tensor), preprocessing. Stable across machines.
  std::string content_fingerprint() const;

  struct State;

 private:
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace foveal
