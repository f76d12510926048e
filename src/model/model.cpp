#include "model/model.hpp"

#include "image/geometry.hpp"
#include "model/families/families.hpp"
#include "model/fingerprint.hpp"
#include "model/forward.hpp"

#include <algorithm>
#include <mutex>

namespace foveal {
namespace {

Result<const Family*> find_family(const ModelFolder& folder) {
  FOVEAL_TRY(const std::string model_type, folder.config.text("model_type", ""));
  std::string known;
  for (const Family& family : kFamilies) {
    if (family.serves(model_type)) {
      return &family;
    }
    for (const std::string_view name : family.model_types) {
      known += (known.empty() || name.empty() ? "" : ", ") + std::string(name);
    }
  }
  return Error(ErrorCode::kFamilyUnknown,
               {{"folder", folder.path},
                {"model_type", model_type.empty() ? "(none)" : model_type},
                {"known", known}});
}

// The prefix under which most blocks are found; the first where there are none, so that errors name
// it.
std::string weight_prefix(const TowerSpec& spec, const WeightFiles& files) {
  const std::string block = spec.block.prefix.substr(0, spec.block.prefix.find("{}"));
  std::string best = spec.weight_prefixes.front();
  std::ptrdiff_t most = 0;
  const std::vector<std::string> names = files.names();
  for (const std::string& prefix : spec.weight_prefixes) {
    const std::string start = prefix + block;
    const auto count = std::count_if(names.begin(), names.end(), [&](const std::string& name) {
      return name.starts_with(start);
    });
    if (count > most) {
      most = count;
      best = prefix;
    }
  }
  return best;
}

std::string dtypes_text(const std::set<DType>& dtypes) {
  return dtypes.size() == 1 ? std::string(dtype_name(*dtypes.begin())) : "mixed";
}

}  // namespace

struct Model::State {
  TowerSpec spec;
  TowerWeights weights;
  WeightFiles files;
  std::set<std::string> used_tensors;
  ModelInfo info;
  NormalizationTable normalization{};
  EncoderOptions options;
  Exec exec;
  Machine machine;
  std::span<const Backend> backends;
  std::string attention_backend;
  DType compute = DType::kF32;
  PositionCache positions;
  std::once_flag fingerprint_once;
  std::string fingerprint;
};

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Result<Model> Model::load(const LoadOptions& options) {
  FOVEAL_TRY(const std::string path, find_model(options.model, options.encoder.hub_cache));
  FOVEAL_TRY(const ModelFolder folder, open_model_folder(path));
  FOVEAL_TRY(const Family* family, find_family(folder));
  auto state = std::make_unique<State>();
  FOVEAL_TRY(state->files, WeightFiles::open(path));
  FOVEAL_TRY(state->spec, family->describe(folder, state->files));
  TowerSpec& spec = state->spec;
  spec.family = family->name;
  FOVEAL_TRY(spec.model_type, folder.config.text("model_type", ""));

  state->options = options.encoder;
  state->exec = options.exec;
  state->machine = options.machine;
  state->backends = options.backends;
  state->attention_backend = options.attention_backend;
  // Auto is resolved by the caller, who knows the machine; f16 computes in f32 on the CPU.
  state->compute = options.encoder.dtype == ComputeDType::kBF16 ? DType::kBF16 : DType::kF32;
  state->normalization =
      make_normalization_table(spec.preprocess.normalization, options.encoder.resize);

  const auto storage = folder.config.has("quantization_config") ? TensorLoader::Storage::kQuantised
                                                                : TensorLoader::Storage::kPlain;
  TensorLoader loader(state->files, weight_prefix(spec, state->files), spec.family, storage);
  FOVEAL_TRY(state->weights, load_tower(spec, loader, state->exec, state->compute));
  state->used_tensors = loader.used();

  ModelInfo& info = state->info;
  info.folder = path;
  info.family = spec.family;
  info.model_type = spec.model_type;
  info.hidden_size = spec.hidden_size;
  info.num_layers = spec.num_layers;
  info.num_heads = spec.block.attention.num_heads;
  info.head_dim = spec.block.attention.head_dim;
  info.patch_size = spec.patch.geometry.patch_size;
  info.merge_size = spec.patch.geometry.merge_size;
  info.parameters = loader.parameters();
  info.weights_dtype = dtypes_text(loader.dtypes());
  info.compute_dtype = dtype_name(state->compute);
  info.outputs = output_names(spec);
  if (const auto* cls = std::get_if<ClsHead>(&spec.head)) {
    info.output_dim = cls->output_dim;
  } else if (const auto* merger = std::get_if<MergerSpec>(&spec.head)) {
    info.output_dim = merger->output_dim;
  } else {
    info.output_dim = spec.hidden_size;
  }
  return Model(std::move(state));
}

const ModelInfo& Model::info() const {
  return state_->info;
}

Result<ImageTokens> Model::tokens_for(int height, int width, std::string_view name) const {
  const TowerSpec& spec = state_->spec;
  const PatchGeometry& g = spec.patch.geometry;
  FOVEAL_TRY(const SizePlan plan, plan_size(spec.preprocess, g, {.height = height, .width = width},
                                            state_->options.resize, name, spec.family));
  ImageTokens out;
  out.grid_h = plan.final_size.height / g.patch_size;
  out.grid_w = plan.final_size.width / g.patch_size;
  const auto grid_text = [](std::int64_t h, std::int64_t w) {
    return std::to_string(h) + " x " + std::to_string(w);
  };
  const bool fixed = spec.positions && spec.positions->use == PositionSpec::Use::kAsTrained &&
                     state_->options.positions == PositionMode::kAsTrained;
  const bool fits =
      !spec.positions || ops::GridSize{out.grid_h, out.grid_w} == spec.positions->grid;
  if (out.grid_h < 1 || out.grid_w < 1 || (fixed && !fits)) {
    return Error(
        ErrorCode::kImageSizeUnsupported,
        {{"file", name},
         {"grid", grid_text(out.grid_h, out.grid_w)},
         {"family", spec.family},
         {"expected", spec.positions ? grid_text(spec.positions->grid.h, spec.positions->grid.w)
                                     : std::string("at least 1 x 1")}});
  }
  out.sequence_rows = spec.prefix_rows() + out.grid_h * out.grid_w;
  out.tokens = spec.is_merging() ? out.grid_h * out.grid_w / (g.merge_size * g.merge_size)
                                 : out.sequence_rows;
  return out;
}

std::optional<ImageSize> Model::resized_size(ImageSize size) const {
  const TowerSpec& spec = state_->spec;
  const auto plan = plan_size(spec.preprocess, spec.patch.geometry, size, state_->options.resize,
                              "picture", spec.family);
  const bool resizes = plan && spec.preprocess.rule != SizeRule::kKeep;
  return resizes ? std::optional(plan->resized) : std::nullopt;
}

Result<PreparedImage> Model::prepare(const Image& image, std::string_view name) const {
  const TowerSpec& spec = state_->spec;
  PreparedImage out;
  out.name = name;
  FOVEAL_TRY(out.tokens, tokens_for(image.height, image.width, name));
  FOVEAL_TRY(const SizePlan plan, plan_size(spec.preprocess, spec.patch.geometry, image.size(),
                                            state_->options.resize, name, spec.family));
  FOVEAL_TRY(out.pixels, resize_image(image, {.size = plan.resized,
                                              .filter = spec.preprocess.filter,
                                              .backend = state_->options.resize,
                                              .window = plan.window}));
  return out;
}

Status Model::forward(std::span<const PreparedImage> images, const ForwardRequest& request,
                      Arena& arena, std::span<ImageResult> results) const {
  const ForwardModel model{.spec = state_->spec,
                           .weights = state_->weights,
                           .normalization = state_->normalization,
                           .exec = state_->exec,
                           .compute = state_->compute,
                           .machine = state_->machine,
                           .backends = state_->backends,
                           .attention_backend = state_->attention_backend,
                           .positions = state_->positions};
  return run_forward(model, images, request, arena, results);
}

std::string Model::content_fingerprint() const {
  std::call_once(state_->fingerprint_once, [this] {
    state_->fingerprint = model_fingerprint(state_->spec, state_->files, state_->used_tensors);
  });
  return state_->fingerprint;
}

}  // namespace foveal
