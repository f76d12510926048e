// CLIP's vision tower, alone or inside a whole model: no patch bias, pre_layrnorm (so spelled),
// pooled = [visual_projection](post_layernorm(CLS)); last_hidden_state is not normed. transformers:
// models/clip.
#include "model/families/families.hpp"

#include <algorithm>

namespace foveal::families {

Result<TowerSpec> describe_clip(const ModelFolder& folder, const WeightFiles& files) {
  FOVEAL_TRY(const Config c, vision_config(folder, "clip"));
  FOVEAL_TRY(const std::string model_type, folder.config.text("model_type", ""));
  FOVEAL_TRY(const std::vector<std::string> architectures, folder.config.texts("architectures"));
  TowerSpec out;
  FOVEAL_TRY(const Width width, read_width(c, {"hidden_size", 768, "num_attention_heads", 12}));
  FOVEAL_TRY(const ImageGrid grid, read_image_grid(c, 224, 32));
  FOVEAL_TRY_STATUS(check_channels(c, "num_channels"));
  FOVEAL_TRY(out.num_layers, c.integer("num_hidden_layers", 12, kLayers));
  FOVEAL_TRY(const std::int64_t intermediate, c.integer("intermediate_size", 3072, kWidth));
  FOVEAL_TRY(const ops::Activation activation, read_activation(c, "hidden_act", "quick_gelu"));
  FOVEAL_TRY(const double eps, c.real("layer_norm_eps", 1e-5, 0.0, kMaxEps));
  // In a whole model the projection's width stands beside vision_config.
  FOVEAL_TRY(const std::int64_t projection, folder.config.integer("projection_dim", 512, kWidth));

  out.hidden_size = width.hidden_size;
  out.patch = {.geometry = {.patch_size = grid.patch_size},
               .projection = {"embeddings.patch_embedding", Bias::kNo}};
  out.prefix_tokens = {{.name = "embeddings.class_embedding", .rank = 1}};
  out.positions = PositionSpec{.table = "embeddings.position_embedding.weight",
                               .table_rank = 2,
                               .grid = grid.grid,
                               .has_cls_row = true,
                               .filter = ops::GridFilter::kBicubic,
                               .use = PositionSpec::Use::kAsTrained};
  out.pre_norm = NormSpec{.name = "pre_layrnorm", .eps = eps};
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
  out.final_norm_use = FinalNorm::kClsOnly;
  out.final_norm = {.name = "post_layernorm", .eps = eps};
  out.weight_prefixes = {"vision_model.", ""};
  out.ignored_tensors = {"embeddings.position_ids"};
  out.other_parts = {"text_model.", "text_projection.", "logit_scale"};

  // CLIPVisionModel answers with the normed CLS, the other classes project it.
  const bool plain = std::find(architectures.begin(), architectures.end(), "CLIPVisionModel") !=
                     architectures.end();
  const bool projects = model_type == "clip" || (!plain && !architectures.empty()) ||
                        static_cast<bool>(files.find("visual_projection.weight"));
  if (projects) {
    out.head =
        ClsHead{.dense = LinearSpec{"/visual_projection", Bias::kNo}, .output_dim = projection};
  } else {
    out.head = ClsHead{.dense = std::nullopt, .output_dim = width.hidden_size};
  }
  FOVEAL_TRY(out.preprocess, read_preprocess(folder.preprocessor, ProcessorClass::kClip, "clip",
                                             out.patch.geometry));
  return out;
}

}  // namespace foveal::families
