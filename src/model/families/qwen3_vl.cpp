// Qwen3-VL's tower: pictures at their own size, learned positions resampled to each grid
// (align_corners) plus 2-D rotary, no windows, deepstack features taken after some blocks.
// transformers: models/qwen3_vl.
#include "model/families/families.hpp"

#include <cmath>

namespace foveal::families {

Result<TowerSpec> describe_qwen3_vl(const ModelFolder& folder, const WeightFiles& /*files*/) {
  FOVEAL_TRY(const Config c, vision_config(folder, "qwen3_vl"));
  TowerSpec out;
  FOVEAL_TRY(const Width width, read_width(c, {"hidden_size", 1152, "num_heads", 16}));
  FOVEAL_TRY_STATUS(check_channels(c, "in_channels"));
  FOVEAL_TRY(out.num_layers, c.integer("depth", 27, kLayers));
  FOVEAL_TRY(const std::int64_t intermediate, c.integer("intermediate_size", 4304, kWidth));
  FOVEAL_TRY(const std::int64_t output, c.integer("out_hidden_size", 3584, kWidth));
  FOVEAL_TRY(const ops::Activation activation,
             read_activation(c, "hidden_act", "gelu_pytorch_tanh"));
  FOVEAL_TRY(const std::int64_t patch, c.integer("patch_size", 16, {.min = 1, .max = 256}));
  FOVEAL_TRY(const std::int64_t temporal,
             c.integer("temporal_patch_size", 2, {.min = 1, .max = 16}));
  FOVEAL_TRY(const std::int64_t merge, c.integer("spatial_merge_size", 2, {.min = 1, .max = 16}));
  FOVEAL_TRY(const std::int64_t cells, c.integer("num_position_embeddings", 2304, kWidth));
  FOVEAL_TRY(const double theta, read_rope_theta(c, 10000.0));
  const auto side = static_cast<std::int64_t>(std::llround(std::sqrt(static_cast<double>(cells))));
  if (side * side != cells) {
    return c.bad("num_position_embeddings", "a square number");
  }
  std::vector<std::int64_t> taps;  // the class's default, as far as the tower is that deep
  for (const std::int64_t layer : {8, 16, 24}) {
    if (layer < out.num_layers) {
      taps.push_back(layer);
    }
  }
  FOVEAL_TRY(out.deepstack_layers,
             c.integers("deepstack_visual_indexes", taps, {.min = 0, .max = out.num_layers - 1}));

  out.hidden_size = width.hidden_size;
  out.patch = {.geometry = {.patch_size = static_cast<int>(patch),
                            .temporal_patch_size = static_cast<int>(temporal),
                            .merge_size = static_cast<int>(merge)},
               .projection = {"patch_embed.proj"},
               .weight_rank = 5};
  out.positions = PositionSpec{.table = "pos_embed.weight",
                               .table_rank = 2,
                               .grid = {side, side},
                               .has_cls_row = false,
                               .filter = ops::GridFilter::kBilinearAlignCorners,
                               .use = PositionSpec::Use::kAlways};
  out.rope = RopeSpec{.theta = theta};
  out.block.prefix = "blocks.{}.";
  out.block.norm1 = {.name = "norm1", .eps = 1e-6};
  out.block.attention = {.qkv = LinearSpec{"attn.qkv"},
                         .proj = {"attn.proj"},
                         .num_heads = width.num_heads,
                         .head_dim = width.head_dim};
  out.block.norm2 = {.name = "norm2", .eps = 1e-6};
  out.block.mlp = {.fc1 = {"mlp.linear_fc1"},
                   .fc2 = {"mlp.linear_fc2"},
                   .width = intermediate,
                   .activation = activation};
  const auto merger = [&](const std::string& prefix, MergerSpec::NormAt at) {
    return MergerSpec{.norm = {.name = prefix + "norm", .eps = 1e-6},
                      .norm_at = at,
                      .fc1 = {prefix + "linear_fc1"},
                      .fc2 = {prefix + "linear_fc2"},
                      .output_dim = output,
                      .activation = ops::Activation::kGelu};
  };
  out.head = merger("merger.", MergerSpec::NormAt::kBeforeMerge);
  for (std::size_t i = 0; i < out.deepstack_layers.size(); ++i) {
    out.deepstack.push_back(merger("deepstack_merger_list." + std::to_string(i) + ".",
                                   MergerSpec::NormAt::kAfterMerge));
  }
  out.weight_prefixes = {"model.visual.", "visual.", ""};
  FOVEAL_TRY(out.preprocess, read_preprocess(folder.preprocessor, ProcessorClass::kQwen2Vl,
                                             "qwen3_vl", out.patch.geometry));
  return out;
}

}  // namespace foveal::families
