// What a family file provides: the model types it serves and a description made from the folder's
// configs. Helpers that several families share stand at the end.
#pragma once

#include "model/folder.hpp"
#include "model/spec.hpp"
#include "model/weights.hpp"

#include <foveal/error.hpp>

#include <array>
#include <string_view>

namespace foveal {

struct Family {
  std::string_view name;
  std::array<std::string_view, 2> model_types;  // of config.json; unused places are empty
  // Reads configs only; `files` tells which optional parts a checkpoint has.
  Result<TowerSpec> (*describe)(const ModelFolder& folder, const WeightFiles& files);

  bool serves(std::string_view model_type) const {
    return !model_type.empty() && (model_type == model_types[0] || model_type == model_types[1]);
  }
};

namespace families {

// hidden_act and its kind: "gelu", "gelu_pytorch_tanh", "gelu_new", "quick_gelu", "silu", "relu",
// "tanh".
Result<ops::Activation> read_activation(const Config& config, std::string_view field,
                                        std::string_view fallback);

// hidden_size, heads: positive, and hidden_size a multiple of num_heads with a head_dim that
// attention serves.
struct Width {
  std::int64_t hidden_size = 0;
  std::int64_t num_heads = 0;
  std::int64_t head_dim = 0;
};
struct WidthFields {
  std::string_view hidden_field;
  std::int64_t hidden_size;
  std::string_view heads_field;
  std::int64_t num_heads;
};
Result<Width> read_width(const Config& config, const WidthFields& fields);

// image_size / patch_size as a grid of whole patches; both may be an integer or a pair. Patches are
// square.
struct ImageGrid {
  int patch_size = 0;
  ops::GridSize grid;
};
Result<ImageGrid> read_image_grid(const Config& config, std::int64_t image_size,
                                  std::int64_t patch_size);

// num_channels must be 3: pictures are RGB.
Status check_channels(const Config& config, std::string_view field);

// rope_theta where transformers 5 (rope_parameters) and older files have it.
Result<double> read_rope_theta(const Config& config, double fallback);

// vision_config of a whole model, or the file itself where it is a tower's own config.
Result<Config> vision_config(const ModelFolder& folder, std::string_view whole_model_type);

inline constexpr IntRange kLayers{.min = 1, .max = 1000};
inline constexpr IntRange kWidth{.min = 1, .max = 1 << 20};
inline constexpr double kMaxEps = 1.0;

}  // namespace families
}  // namespace foveal
