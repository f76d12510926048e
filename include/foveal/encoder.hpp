// A vision encoder from a Hugging Face model folder: pictures of any size in, embeddings or visual
// tokens out. Pictures are decoded beside the forward pass and packed into batches by a token
// budget; a broken one costs its own result only.
#pragma once

#include <foveal/context.hpp>
#include <foveal/error.hpp>
#include <foveal/image.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace foveal {

enum class ComputeDType : std::uint8_t {
  kAuto,
  kF32,
  kBF16,
  kF16
};  // auto: bf16 with AMX or a GPU, else f32
enum class PositionMode : std::uint8_t { kAsTrained, kInterpolate };  // --interpolate-pos-encoding
enum class Normalize : std::uint8_t { kNo, kYes };                    // L2 norm of `pooled`
enum class FastJpeg : std::uint8_t {
  kNo,
  kYes
};  // yes: JPEGs may be decoded at a fraction of their size

struct EncoderOptions {
  ComputeDType dtype = ComputeDType::kAuto;
  std::string device = "auto";                       // "auto", "cpu", "cuda", "cuda:N"
  ImageBackend resize = ImageBackend::kTorchvision;  // which of transformers' backends
  PositionMode positions = PositionMode::kAsTrained;
  FastJpeg fast_jpeg = FastJpeg::kNo;
  DecodeOptions decode{};  // limits, background; the target of a fast JPEG comes from the model
  // Folder of the Hugging Face cache ("~/.cache/huggingface/hub", resolved by the front end from
  // HF_HUB_CACHE, HF_HOME and HOME); empty: only folders are models.
  std::string hub_cache{};
};

// What a folder holds, for people and for `inspect`.
struct ModelInfo {
  std::string folder;
  std::string family;      // "dinov2"
  std::string model_type;  // as in config.json
  std::int64_t hidden_size = 0;
  std::int64_t num_layers = 0;
  std::int64_t num_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t output_dim = 0;  // columns of `pooled`
  std::int64_t patch_size = 0;
  std::int64_t merge_size = 1;
  std::int64_t parameters = 0;  // of the vision part
  std::string weights_dtype;    // "f32", "bf16" or "mixed"
  std::string compute_dtype;    // "f32" or "bf16"
  std::vector<std::string>
      outputs;  // every name that `outputs` may ask for, "hidden_states.0" ... included
};

// What a picture of a size becomes, known from its header alone.
struct ImageTokens {
  std::int64_t grid_t = 1;
  std::int64_t grid_h = 0;  // patches
  std::int64_t grid_w = 0;  // patches
  std::int64_t tiles = 1;
  std::int64_t tokens =
      0;  // rows of `pooled` for a VLM's tower, rows of the sequence for an encoder
  std::int64_t sequence_rows = 0;  // rows in the tower: patches and prefix tokens
};

// One picture to embed: a path, bytes in memory with a name for errors, or decoded pixels.
struct ImageInput {
  struct Bytes {
    std::vector<std::uint8_t> data;
  };
  std::string name;  // path, or what errors call it
  std::variant<std::monostate /*read `name` as a path*/, Bytes, Image> content{};
};

// Rows that one picture contributes to one output.
struct OutputRows {
  std::string name;  // "pooled", "last_hidden_state", "hidden_states.3", "grid_thw" ...
  std::vector<std::int64_t> shape;  // rows first: (rows, D); pixel_values (3, H, W) or (rows, C)
  std::vector<float> values{};      // empty for integer outputs
  std::vector<std::int64_t> integers{};  // grid_thw (1, 3)
};

struct ImageResult {
  std::int64_t index = 0;  // place in the input, from 0
  std::string name;
  std::optional<Error> error{};  // set: no outputs
  std::vector<OutputRows> outputs{};
  std::int64_t sequence_rows = 0;  // rows in the tower, 0 with an error
};

struct EmbedOptions {
  // Names of the model's outputs; "hidden_states" and "deepstack" stand for all of theirs, "all"
  // for everything.
  std::vector<std::string> outputs = {"pooled"};
  std::optional<std::int64_t>
      layer{};  // `pooled` is then CLS (or the mean) of hidden_states.N, without final norm
  Normalize normalize = Normalize::kNo;
  // Rows of one forward pass. Given: a picture that alone makes more is ImageOverBudget. Absent:
  // 8192, and a larger picture has a pass of its own.
  std::optional<std::int64_t> batch_tokens{};
  int decode_threads = 0;  // 0: chosen from the context's threads
};

class Encoder {
 public:
  // model: a folder, or org/name[@revision] in the Hugging Face cache. All 3xxx errors,
  // DeviceUnavailable. The context must outlive the encoder.
  static Result<Encoder> open(const Context& context, std::string_view model,
                              const EncoderOptions& options = {});
  Encoder(Encoder&&) noexcept;
  Encoder& operator=(Encoder&&) noexcept;
  ~Encoder();

  const ModelInfo& info() const;
  // Size after EXIF orientation. ImageAspectRatio, ImageSizeUnsupported.
  Result<ImageTokens> tokens_for(int height, int width, std::string_view name = "picture") const;

  // Next picture, or nullopt at the end. Called by the encoder's own threads, one at a time. What
  // it throws ends the run, after the pictures it gave before.
  using Source = std::function<std::optional<ImageInput>()>;
  // Results come in input order, from the calling thread. An error stops the run and is returned.
  using Sink = std::function<Status(ImageResult&&)>;
  // Memory is bounded by batch_tokens and the decode queue, not by the number of pictures. After a
  // stop request a batch whose forward pass has begun is finished and delivered, then Cancelled is
  // returned. OptionUnknown (outputs), OptionInvalid, what the sink returns, Cancelled,
  // OutOfMemory, Internal.
  Status embed(const Source& source, const EmbedOptions& options, const Sink& sink,
               std::stop_token stop = {}) const;
  // For a handful of pictures: all results in order.
  Result<std::vector<ImageResult>> embed(std::vector<ImageInput> images,
                                         const EmbedOptions& options = {}) const;

  // JSON object that says what produced an output; equal "content" means comparable vectors,
  // "notes" say how they were computed. {"content": {...}, "content_hash": "<16 hex>", "notes":
  // {...}}
  std::string fingerprint(const EmbedOptions& options) const;

  struct State;

 private:
  explicit Encoder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace foveal
