#include "model/families/family.hpp"

namespace foveal::families {

Result<ops::Activation> read_activation(const Config& config, std::string_view field,
                                        std::string_view fallback) {
  using ops::Activation;
  constexpr std::array<std::pair<std::string_view, Activation>, 9> kNames{{
      {"gelu", Activation::kGelu},
      {"gelu_pytorch_tanh", Activation::kGeluTanh},
      {"gelu_new", Activation::kGeluTanh},
      {"gelu_fast", Activation::kGeluTanh},
      {"quick_gelu", Activation::kQuickGelu},
      {"silu", Activation::kSilu},
      {"swish", Activation::kSilu},
      {"relu", Activation::kRelu},
      {"tanh", Activation::kTanh},
  }};
  FOVEAL_TRY(const std::string name, config.text(field, fallback));
  for (const auto& [known, activation] : kNames) {
    if (known == name) {
      return activation;
    }
  }
  return config.bad(field, "gelu, gelu_pytorch_tanh, gelu_new, quick_gelu, silu, relu or tanh");
}

Result<Width> read_width(const Config& config, const WidthFields& fields) {
  Width out;
  FOVEAL_TRY(out.hidden_size, config.integer(fields.hidden_field, fields.hidden_size, kWidth));
  FOVEAL_TRY(out.num_heads,
             config.integer(fields.heads_field, fields.num_heads, {.min = 1, .max = 1024}));
  if (out.hidden_size % out.num_heads != 0) {
    return config.bad(fields.heads_field, "a divisor of " + std::string(fields.hidden_field) +
                                              " (" + std::to_string(out.hidden_size) + ")");
  }
  out.head_dim = out.hidden_size / out.num_heads;
  if (out.head_dim % 8 != 0 || out.head_dim > 256) {
    return config.bad(fields.heads_field, "a number of heads that makes head_dim (" +
                                              std::to_string(out.head_dim) +
                                              ") a multiple of 8 up to 256");
  }
  return out;
}

Result<ImageGrid> read_image_grid(const Config& config, std::int64_t image_size,
                                  std::int64_t patch_size) {
  constexpr IntRange kPixels{.min = 1, .max = 1 << 16};
  FOVEAL_TRY(const Config::Pair image, config.pair("image_size", image_size, kPixels));
  FOVEAL_TRY(const Config::Pair patch,
             config.pair("patch_size", patch_size, {.min = 1, .max = 256}));
  if (patch.height != patch.width) {
    return config.bad("patch_size", "square patches");
  }
  if (image.height < patch.height || image.width < patch.width) {
    return config.bad("image_size", "at least patch_size (" + std::to_string(patch.height) + ")");
  }
  return ImageGrid{static_cast<int>(patch.height),
                   {image.height / patch.height, image.width / patch.width}};
}

Status check_channels(const Config& config, std::string_view field) {
  FOVEAL_TRY(const std::int64_t channels, config.integer(field, 3));
  if (channels != 3) {
    return config.bad(field, "3: pictures are RGB");
  }
  return {};
}

Result<double> read_rope_theta(const Config& config, double fallback) {
  constexpr double kMin = 1.0;
  constexpr double kMax = 1e12;
  for (const std::string_view group : {"rope_parameters", "rope_scaling"}) {
    FOVEAL_TRY(const Config parameters, config.child(group));
    if (parameters.has("rope_theta")) {
      return parameters.real("rope_theta", fallback, kMin, kMax);
    }
  }
  return config.real("rope_theta", fallback, kMin, kMax);
}

Result<Config> vision_config(const ModelFolder& folder, std::string_view whole_model_type) {
  FOVEAL_TRY(const std::string model_type, folder.config.text("model_type", ""));
  if (model_type == whole_model_type) {
    return folder.config.child("vision_config");
  }
  return folder.config;
}

}  // namespace foveal::families
