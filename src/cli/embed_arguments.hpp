// The flags of `embed`, as typed and as the library takes them. Those that decide what a vector
// means travel in the output's metadata ("embed"), so that `search` embeds its query in the same
// way.
#pragma once

#include "cli/console.hpp"
#include "cli/progress.hpp"

#include <foveal/context.hpp>
#include <foveal/encoder.hpp>
#include <foveal/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace foveal::cli {

// How the model is opened and run: shared by embed, search and inspect.
struct ModelArguments {
  std::string model;
  std::string dtype = "auto";
  std::string device = "auto";
  std::string backend = "auto";
  std::string resize = "torchvision";
  std::string background;
  bool fast_jpeg = false;
  bool interpolate_positions = false;
  std::int64_t max_pixels = ImageLimits{}.max_pixels;
  std::int64_t max_bytes = ImageLimits{}.max_bytes.v;
  int threads = 0;
  std::optional<std::int64_t> layer;
  bool normalize = false;
};

// The flags that say where and how to compute: --dtype --device --backend --threads.
void add_compute_flags(CLI::App& app, ModelArguments& to);
// What becomes of hidden states: --layer --normalize.
void add_vector_flags(CLI::App& app, ModelArguments& to);
// How a picture becomes the tower's input, and limits.
void add_picture_flags(CLI::App& app, ModelArguments& to);

ContextOptions context_options(const ModelArguments& arguments);
Result<EncoderOptions> encoder_options(const ModelArguments& arguments);
EmbedOptions embed_options(const ModelArguments& arguments);

// To and from the metadata. A missing or damaged text leaves the defaults.
std::string to_metadata(const ModelArguments& arguments);
ModelArguments from_metadata(std::string_view text);

struct EmbedArguments {
  ModelArguments model;
  std::vector<std::string> inputs;
  std::string out;
  std::string outputs = "pooled";  // comma-separated
  std::optional<std::int64_t> batch_tokens{};
  std::string on_error = "skip";
  std::string progress = "auto";
  bool resume = false;
  bool one_sample = false;
  bool json = false;
};

std::vector<std::string> split_names(std::string_view names);

}  // namespace foveal::cli
