// SigLIP's vision tower, alone or inside a whole model: no CLS, post_layernorm on all tokens,
// pooled by a probe that attends to them (absent in towers of vision language models).
// transformers: models/siglip.
#include "model/families/families.hpp"

namespace foveal::families {

Result<TowerSpec> describe_siglip(const ModelFolder& folder, const WeightFiles& /*files*/) {
  FOVEAL_TRY(const Config c, vision_config(folder, "siglip"));
  TowerSpec out;
  FOVEAL_TRY(const Width width, read_width(c, {"hidden_size", 768, "num_attention_heads", 12}));
  FOVEAL_TRY(const ImageGrid grid, read_image_grid(c, 224, 16));
  FOVEAL_TRY_STATUS(check_channels(c, "num_channels"));
  FOVEAL_TRY(out.num_layers, c.integer("num_hidden_layers", 12, kLayers));
  FOVEAL_TRY(const std::int64_t intermediate, c.integer("intermediate_size", 3072, kWidth));
  FOVEAL_TRY(const ops::Activation activation,
             read_activation(c, "hidden_act", "gelu_pytorch_tanh"));
  FOVEAL_TRY(const double eps, c.real("layer_norm_eps", 1e-6, 0.0, kMaxEps));
  FOVEAL_TRY(const bool use_head, c.flag("vision_use_head", true));

  out.hidden_size = width.hidden_size;
  out.patch = {.geometry = {.patch_size = grid.patch_size},
               .projection = {"embeddings.patch_embedding"}};
  out.positions = PositionSpec{.table = "embeddings.position_embedding.weight",
                               .table_rank = 2,
                               .grid = grid.grid,
                               .has_cls_row = false,
                               .filter = ops::GridFilter::kBicubic,
                               .use = PositionSpec::Use::kAsTrained};
  out.block.prefix = "encoder.layers.{}.";
  out.block.norm1 = {.name = "layer_norm1", .eps = eps};
  out.block.attention = {.q = {"self_attn.q_proj"},
                         .k = {"self_attn.k_proj"},
                         .v = {"self_attn.v_proj"},
                         .proj = {"self_attn.out_proj"},
                         .num_heads = width.num_heads,
                         .head_dim = width.head_dim};
  out.block.norm2 = {.name = "layer_norm2", .eps = eps};
  out.block.mlp = {
      .fc1 = {"mlp.fc1"}, .fc2 = {"mlp.fc2"}, .width = intermediate, .activation = activation};
  out.final_norm_use = FinalNorm::kAllTokens;
  out.final_norm = {.name = "post_layernorm", .eps = eps};
  if (use_head) {
    out.head = AttentionPoolHead{.probe = "head.probe",
                                 .in_proj = "head.attention.in_proj",
                                 .out_proj = {"head.attention.out_proj"},
                                 .norm = {.name = "head.layernorm", .eps = eps},
                                 .mlp = {.fc1 = {"head.mlp.fc1"},
                                         .fc2 = {"head.mlp.fc2"},
                                         .width = intermediate,
                                         .activation = activation},
                                 .num_heads = width.num_heads};
  }
  out.weight_prefixes = {"vision_model.", ""};
  out.ignored_tensors = {"embeddings.position_ids"};
  out.other_parts = {"text_model.", "logit_scale", "logit_bias"};
  FOVEAL_TRY(out.preprocess, read_preprocess(folder.preprocessor, ProcessorClass::kSiglip, "siglip",
                                             out.patch.geometry));
  return out;
}

}  // namespace foveal::families
