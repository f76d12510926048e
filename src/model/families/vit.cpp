// ViT (google/vit-*): CLS first, learned positions, pooled = tanh(dense(layernorm(CLS))).
// Checkpoints with a classifier instead of a pooler answer with the normed CLS. transformers:
// models/vit.
#include "model/families/families.hpp"

namespace foveal::families {

Result<TowerSpec> describe_vit(const ModelFolder& folder, const WeightFiles& files) {
  const Config& c = folder.config;
  TowerSpec out;
  FOVEAL_TRY(const Width width, read_width(c, {"hidden_size", 768, "num_attention_heads", 12}));
  FOVEAL_TRY(const ImageGrid grid, read_image_grid(c, 224, 16));
  FOVEAL_TRY_STATUS(check_channels(c, "num_channels"));
  FOVEAL_TRY(out.num_layers, c.integer("num_hidden_layers", 12, kLayers));
  FOVEAL_TRY(const std::int64_t intermediate, c.integer("intermediate_size", 3072, kWidth));
  FOVEAL_TRY(const ops::Activation activation, read_activation(c, "hidden_act", "gelu"));
  FOVEAL_TRY(const double eps, c.real("layer_norm_eps", 1e-12, 0.0, kMaxEps));
  FOVEAL_TRY(const bool qkv_bias, c.flag("qkv_bias", true));
  const Bias bias = qkv_bias ? Bias::kYes : Bias::kNo;

  out.hidden_size = width.hidden_size;
  out.patch = {.geometry = {.patch_size = grid.patch_size},
               .projection = {"embeddings.patch_embeddings.projection"}};
  out.prefix_tokens = {{.name = "embeddings.cls_token", .rank = 3}};
  out.positions = PositionSpec{.table = "embeddings.position_embeddings",
                               .table_rank = 3,
                               .grid = grid.grid,
                               .has_cls_row = true,
                               .filter = ops::GridFilter::kBicubic,
                               .use = PositionSpec::Use::kAsTrained};
  out.block.prefix = "encoder.layer.{}.";
  out.block.norm1 = {.name = "layernorm_before", .eps = eps};
  out.block.attention = {.q = {"attention.attention.query", bias},
                         .k = {"attention.attention.key", bias},
                         .v = {"attention.attention.value", bias},
                         .proj = {"attention.output.dense"},
                         .num_heads = width.num_heads,
                         .head_dim = width.head_dim};
  out.block.norm2 = {.name = "layernorm_after", .eps = eps};
  out.block.mlp = {.fc1 = {"intermediate.dense"},
                   .fc2 = {"output.dense"},
                   .width = intermediate,
                   .activation = activation};
  out.final_norm_use = FinalNorm::kAllTokens;
  out.final_norm = {.name = "layernorm", .eps = eps};
  out.weight_prefixes = {"", "vit."};
  out.ignored_tensors = {"embeddings.mask_token"};
  out.other_parts = {"classifier.", "decoder."};

  ClsHead head{.dense = std::nullopt, .output_dim = width.hidden_size};
  if (files.find("pooler.dense.weight") || files.find("vit.pooler.dense.weight")) {
    head.dense = LinearSpec{"pooler.dense"};
    FOVEAL_TRY(head.output_dim, c.integer("pooler_output_size", width.hidden_size, kWidth));
    FOVEAL_TRY(head.activation, read_activation(c, "pooler_act", "tanh"));
  }
  out.head = head;
  FOVEAL_TRY(out.preprocess,
             read_preprocess(folder.preprocessor, ProcessorClass::kVit, "vit", out.patch.geometry));
  return out;
}

}  // namespace foveal::families
