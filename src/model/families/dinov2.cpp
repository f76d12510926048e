// DINOv2, plain and with registers: layer scale, positions always resampled to the picture's grid
// (bicubic; antialiased with registers, which come after the positions are added), pooled =
// layernorm(CLS). transformers: models/dinov2, models/dinov2_with_registers.
#include "model/families/families.hpp"

namespace foveal::families {
namespace {

// SwiGLU's width: two thirds of the plain one, rounded up to a multiple of 8.
std::int64_t swiglu_width(std::int64_t hidden) {
  const auto two_thirds = static_cast<std::int64_t>(static_cast<double>(hidden) * 2.0 / 3.0);
  return (two_thirds + 7) / 8 * 8;
}

}  // namespace

Result<TowerSpec> describe_dinov2(const ModelFolder& folder, const WeightFiles& /*files*/) {
  const Config& c = folder.config;
  TowerSpec out;
  FOVEAL_TRY(const std::string model_type, c.text("model_type", ""));
  const bool registers = model_type == "dinov2_with_registers";
  FOVEAL_TRY(const Width width, read_width(c, {"hidden_size", 768, "num_attention_heads", 12}));
  FOVEAL_TRY(const ImageGrid grid, read_image_grid(c, 224, registers ? 16 : 14));
  FOVEAL_TRY_STATUS(check_channels(c, "num_channels"));
  FOVEAL_TRY(out.num_layers, c.integer("num_hidden_layers", 12, kLayers));
  FOVEAL_TRY(const std::int64_t mlp_ratio, c.integer("mlp_ratio", 4, {.min = 1, .max = 64}));
  FOVEAL_TRY(const ops::Activation activation, read_activation(c, "hidden_act", "gelu"));
  FOVEAL_TRY(const double eps, c.real("layer_norm_eps", 1e-6, 0.0, kMaxEps));
  FOVEAL_TRY(const bool qkv_bias, c.flag("qkv_bias", true));
  FOVEAL_TRY(const bool swiglu, c.flag("use_swiglu_ffn", false));
  const Bias bias = qkv_bias ? Bias::kYes : Bias::kNo;

  out.hidden_size = width.hidden_size;
  out.patch = {.geometry = {.patch_size = grid.patch_size},
               .projection = {"embeddings.patch_embeddings.projection"}};
  out.prefix_tokens = {{.name = "embeddings.cls_token", .rank = 3}};
  if (registers) {
    FOVEAL_TRY(const std::int64_t count,
               c.integer("num_register_tokens", 4, {.min = 0, .max = 1024}));
    if (count > 0) {
      out.prefix_tokens.push_back(
          {.name = "embeddings.register_tokens", .count = count, .rank = 3});
    }
  }
  out.positions = PositionSpec{
      .table = "embeddings.position_embeddings",
      .table_rank = 3,
      .grid = grid.grid,
      .has_cls_row = true,
      .filter = registers ? ops::GridFilter::kBicubicAntialias : ops::GridFilter::kBicubic,
      .use = PositionSpec::Use::kAlways};
  out.block.prefix = "encoder.layer.{}.";
  out.block.norm1 = {.name = "norm1", .eps = eps};
  out.block.attention = {.q = {"attention.attention.query", bias},
                         .k = {"attention.attention.key", bias},
                         .v = {"attention.attention.value", bias},
                         .proj = {"attention.output.dense"},
                         .num_heads = width.num_heads,
                         .head_dim = width.head_dim};
  out.block.scale1 = "layer_scale1.lambda1";
  out.block.norm2 = {.name = "norm2", .eps = eps};
  out.block.scale2 = "layer_scale2.lambda1";
  const std::int64_t hidden = width.hidden_size * mlp_ratio;
  if (swiglu) {
    out.block.mlp = {.kind = MlpSpec::Kind::kGatedFused,
                     .fc1 = {"mlp.weights_in"},
                     .fc2 = {"mlp.weights_out"},
                     .width = swiglu_width(hidden),
                     .activation = ops::Activation::kSilu};
  } else {
    out.block.mlp = {
        .fc1 = {"mlp.fc1"}, .fc2 = {"mlp.fc2"}, .width = hidden, .activation = activation};
  }
  out.final_norm_use = FinalNorm::kAllTokens;
  out.final_norm = {.name = "layernorm", .eps = eps};
  out.head = ClsHead{.dense = std::nullopt, .output_dim = width.hidden_size};
  out.weight_prefixes = {"", "dinov2.", "dinov2_with_registers."};
  out.ignored_tensors = {"embeddings.mask_token"};
  out.other_parts = {"classifier."};
  FOVEAL_TRY(out.preprocess, read_preprocess(folder.preprocessor, ProcessorClass::kBit, "dinov2",
                                             out.patch.geometry));
  return out;
}

}  // namespace foveal::families
