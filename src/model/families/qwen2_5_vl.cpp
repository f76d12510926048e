// Qwen2.5-VL's tower: pictures at their own size, RMSNorm, gated MLP with biases, 2-D rotary,
// windows of window_size pixels in all layers but fullatt_block_indexes. Hidden states are in
// window order; the merged tokens are put back. transformers: models/qwen2_5_vl.
#include "model/families/families.hpp"

namespace foveal::families {

Result<TowerSpec> describe_qwen2_5_vl(const ModelFolder& folder, const WeightFiles& /*files*/) {
  FOVEAL_TRY(const Config c, vision_config(folder, "qwen2_5_vl"));
  TowerSpec out;
  FOVEAL_TRY(const Width width, read_width(c, {"hidden_size", 3584, "num_heads", 16}));
  FOVEAL_TRY_STATUS(check_channels(c, c.has("in_channels") ? "in_channels" : "in_chans"));
  FOVEAL_TRY(out.num_layers, c.integer("depth", 32, kLayers));
  FOVEAL_TRY(const std::int64_t intermediate, c.integer("intermediate_size", 3420, kWidth));
  FOVEAL_TRY(const std::int64_t output, c.integer("out_hidden_size", 3584, kWidth));
  FOVEAL_TRY(const ops::Activation activation, read_activation(c, "hidden_act", "silu"));
  constexpr IntRange kPatch{.min = 1, .max = 256};
  FOVEAL_TRY(const std::int64_t patch,
             c.integer(c.has("patch_size") ? "patch_size" : "spatial_patch_size", 14, kPatch));
  FOVEAL_TRY(const std::int64_t temporal,
             c.integer("temporal_patch_size", 2, {.min = 1, .max = 16}));
  FOVEAL_TRY(const std::int64_t merge, c.integer("spatial_merge_size", 2, {.min = 1, .max = 16}));
  FOVEAL_TRY(const std::int64_t window, c.integer("window_size", 112, {.min = 1, .max = 1 << 16}));
  FOVEAL_TRY(const double theta, read_rope_theta(c, 10000.0));
  if (window < merge * patch) {
    return c.bad("window_size", "at least spatial_merge_size * patch_size (" +
                                    std::to_string(merge * patch) + ")");
  }
  WindowSpec windows{.window_cells = window / merge / patch, .full_layers = {}};
  std::vector<std::int64_t> full;  // the class's default, as far as the tower is that deep
  for (const std::int64_t layer : {7, 15, 23, 31}) {
    if (layer < out.num_layers) {
      full.push_back(layer);
    }
  }
  FOVEAL_TRY(windows.full_layers,
             c.integers("fullatt_block_indexes", full, {.min = 0, .max = out.num_layers - 1}));
  const auto rms = [](std::string name) {
    return NormSpec{.name = std::move(name), .kind = ops::NormKind::kRmsNorm, .eps = 1e-6};
  };

  out.hidden_size = width.hidden_size;
  out.patch = {.geometry = {.patch_size = static_cast<int>(patch),
                            .temporal_patch_size = static_cast<int>(temporal),
                            .merge_size = static_cast<int>(merge)},
               .projection = {"patch_embed.proj", Bias::kNo},
               .weight_rank = 5};
  out.rope = RopeSpec{.theta = theta};
  out.block.prefix = "blocks.{}.";
  out.block.norm1 = rms("norm1");
  out.block.attention = {.qkv = LinearSpec{"attn.qkv"},
                         .proj = {"attn.proj"},
                         .num_heads = width.num_heads,
                         .head_dim = width.head_dim};
  out.block.norm2 = rms("norm2");
  out.block.mlp = {.kind = MlpSpec::Kind::kGated,
                   .fc1 = {"mlp.gate_proj"},
                   .up = {"mlp.up_proj"},
                   .fc2 = {"mlp.down_proj"},
                   .width = intermediate,
                   .activation = activation};
  out.windows = windows;
  out.head = MergerSpec{.norm = rms("merger.ln_q"),
                        .norm_at = MergerSpec::NormAt::kBeforeMerge,
                        .fc1 = {"merger.mlp.0"},
                        .fc2 = {"merger.mlp.2"},
                        .output_dim = output,
                        .activation = ops::Activation::kGelu};
  out.weight_prefixes = {"visual.", "model.visual.", ""};
  FOVEAL_TRY(out.preprocess, read_preprocess(folder.preprocessor, ProcessorClass::kQwen2Vl,
                                             "qwen2_5_vl", out.patch.geometry));
  return out;
}

}  // namespace foveal::families
