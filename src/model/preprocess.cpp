#include "model/preprocess.hpp"

#include "image/geometry.hpp"

#include <nlohmann/json.hpp>

#include <array>
#include <cmath>

namespace foveal {
namespace {

constexpr std::array<double, 3> kHalf{0.5, 0.5, 0.5};
constexpr std::array<double, 3> kClipMean{0.48145466, 0.4578275, 0.40821073};
constexpr std::array<double, 3> kClipStd{0.26862954, 0.26130258, 0.27577711};
constexpr int kMaxSide = 1 << 16;  // a sane bound for sizes in a config, not for pictures

struct Defaults {
  std::string_view prefix;  // of image_processor_type or feature_extractor_type
  ProcessorClass processor;
  int resample;           // PIL's number
  SizeRule integer_size;  // what `"size": 224` means
  int size;               // where the file has none
  int crop;               // 0: do_center_crop is off by default
  const std::array<double, 3>& mean;
  const std::array<double, 3>& std;
};

// transformers 5.24, models/*/image_processing_*.py: class attributes.
constexpr std::array<Defaults, 5> kDefaults{{
    {"ViT", ProcessorClass::kVit, 2, SizeRule::kExact, 224, 0, kHalf, kHalf},
    {"CLIP", ProcessorClass::kClip, 3, SizeRule::kShortestEdge, 224, 224, kClipMean, kClipStd},
    {"Siglip", ProcessorClass::kSiglip, 3, SizeRule::kExact, 224, 0, kHalf, kHalf},
    {"Bit", ProcessorClass::kBit, 3, SizeRule::kShortestEdge, 224, 224, kClipMean, kClipStd},
    {"Qwen2VL", ProcessorClass::kQwen2Vl, 3, SizeRule::kSmart, 0, 0, kClipMean, kClipStd},
}};

Error unsupported(const Config& config, std::string_view family, std::string_view field,
                  std::string value, std::string_view expected) {
  return Error(ErrorCode::kPreprocessorUnsupported, {{"file", config.file()},
                                                     {"field", field},
                                                     {"value", std::move(value)},
                                                     {"family", family},
                                                     {"expected", expected}});
}

Result<const Defaults*> defaults_for(const Config& config, ProcessorClass fallback,
                                     std::string_view family) {
  std::string name;
  std::string_view field = "image_processor_type";
  FOVEAL_TRY(name, config.text(field, ""));
  if (name.empty()) {
    field = "feature_extractor_type";
    FOVEAL_TRY(name, config.text(field, ""));
  }
  for (const Defaults& row : kDefaults) {
    const std::string_view rest =
        std::string_view(name).substr(std::min(row.prefix.size(), name.size()));
    if (name.empty() ? row.processor == fallback
                     : name.starts_with(row.prefix) &&
                           (rest.starts_with("Image") || rest.starts_with("Feature"))) {
      return &row;
    }
  }
  return unsupported(config, family, field, name,
                     "ViT, CLIP, SigLIP, Bit and Qwen2VL image processors are served");
}

Result<ResizeFilter> read_filter(const Config& config, int fallback, std::string_view family) {
  FOVEAL_TRY(const std::int64_t number, config.integer("resample", fallback, {.min = 0, .max = 5}));
  switch (number) {
    case 1:
      return ResizeFilter::kLanczos;
    case 2:
      return ResizeFilter::kBilinear;
    case 3:
      return ResizeFilter::kBicubic;
    default:
      return unsupported(config, family, "resample", std::to_string(number),
                         "1 (lanczos), 2 (bilinear) and 3 (bicubic) are served");
  }
}

// {"height", "width"}, or one integer for both.
Result<ImageSize> read_rectangle(const Config& config, std::string_view field, int fallback) {
  constexpr IntRange kSide{.min = 1, .max = kMaxSide};
  if (!config.is_object(field)) {
    FOVEAL_TRY(const Config::Pair side, config.pair(field, fallback, kSide));
    return ImageSize{static_cast<int>(side.height), static_cast<int>(side.width)};
  }
  FOVEAL_TRY(const Config object, config.child(field));
  if (!object.has("height") && object.has("shortest_edge")) {  // a crop written as one edge
    FOVEAL_TRY(const std::int64_t edge, object.integer("shortest_edge", fallback, kSide));
    return ImageSize{static_cast<int>(edge), static_cast<int>(edge)};
  }
  FOVEAL_TRY(const std::int64_t height, object.integer("height", fallback, kSide));
  FOVEAL_TRY(const std::int64_t width, object.integer("width", fallback, kSide));
  return ImageSize{static_cast<int>(height), static_cast<int>(width)};
}

Status read_size(const Config& config, const Defaults& defaults, std::string_view family,
                 PreprocessSpec& out) {
  FOVEAL_TRY(const bool resize, config.flag("do_resize", true));
  if (!resize) {
    out.rule = SizeRule::kKeep;
    return {};
  }
  constexpr IntRange kSide{.min = 1, .max = kMaxSide};
  out.rule = defaults.integer_size;
  if (config.is_object("size")) {
    FOVEAL_TRY(const Config size, config.child("size"));
    if (size.has("shortest_edge")) {
      out.rule = SizeRule::kShortestEdge;
      FOVEAL_TRY(const std::int64_t edge, size.integer("shortest_edge", defaults.size, kSide));
      out.shortest_edge = static_cast<int>(edge);
      if (size.has("longest_edge")) {
        FOVEAL_TRY(const std::int64_t longest, size.integer("longest_edge", 0, kSide));
        out.longest_edge = static_cast<int>(longest);
      }
      return {};
    }
    if (!size.has("height") || !size.has("width")) {
      return config.bad("size", "{\"height\", \"width\"} or {\"shortest_edge\"}");
    }
    out.rule = SizeRule::kExact;
  }
  if (out.rule == SizeRule::kShortestEdge) {
    FOVEAL_TRY(const std::int64_t edge, config.integer("size", defaults.size, kSide));
    out.shortest_edge = static_cast<int>(edge);
    return {};
  }
  if (out.rule != SizeRule::kExact) {
    return unsupported(config, family, "size", "a smart-resize rule", "a fixed size");
  }
  FOVEAL_TRY(out.exact, read_rectangle(config, "size", defaults.size));
  return {};
}

// Qwen: areas in pixels under `size`, or min_pixels / max_pixels, which win where both are there.
Status read_smart_size(const Config& config, std::string_view family, const PatchGeometry& geometry,
                       PreprocessSpec& out) {
  FOVEAL_TRY(const bool resize, config.flag("do_resize", true));
  if (!resize) {
    return unsupported(config, family, "do_resize", "false",
                       "pictures are resized to multiples of the patch");
  }
  out.rule = SizeRule::kSmart;
  constexpr IntRange kArea{.min = 1, .max = std::int64_t{1} << 40};
  std::int64_t min_pixels = 56 * 56;
  std::int64_t max_pixels = 28 * 28 * 1280;
  if (config.has("size")) {
    FOVEAL_TRY(const Config size, config.child("size"));
    // Files of Qwen2-VL repeat min_pixels and max_pixels in here; those beside it count.
    const bool least = size.has("shortest_edge") || config.has("min_pixels");
    const bool most = size.has("longest_edge") || config.has("max_pixels");
    if (!least || !most) {
      return config.bad("size", "both \"shortest_edge\" and \"longest_edge\" (areas in pixels)");
    }
    FOVEAL_TRY(min_pixels, size.integer("shortest_edge", min_pixels, kArea));
    FOVEAL_TRY(max_pixels, size.integer("longest_edge", max_pixels, kArea));
  }
  FOVEAL_TRY(out.min_pixels, config.integer("min_pixels", min_pixels, kArea));
  FOVEAL_TRY(out.max_pixels, config.integer("max_pixels", max_pixels, kArea));
  if (out.min_pixels > out.max_pixels) {
    return config.bad("min_pixels", "at most max_pixels (" + std::to_string(out.max_pixels) + ")");
  }
  // The three sizes stand in config.json too; transformers' processor reads its own file.
  const std::array<std::pair<std::string_view, int>, 3> sizes{
      {{"patch_size", geometry.patch_size},
       {"temporal_patch_size", geometry.temporal_patch_size},
       {"merge_size", geometry.merge_size}}};
  for (const auto& [field, expected] : sizes) {
    FOVEAL_TRY(const std::int64_t value, config.integer(field, expected, {.min = 1, .max = 1024}));
    if (value != expected) {
      return config.bad(field, std::to_string(expected) + ", as config.json has it");
    }
  }
  return {};
}

Result<std::array<double, 3>> read_channels(const Config& config, std::string_view field,
                                            const std::array<double, 3>& fallback, double min) {
  FOVEAL_TRY(const std::vector<double> values,
             config.reals(field, std::vector<double>(fallback.begin(), fallback.end())));
  if (values.size() != 3 || values[0] < min || values[1] < min || values[2] < min) {
    return config.bad(field, min > 0 ? "three positive numbers" : "three numbers");
  }
  return std::array<double, 3>{values[0], values[1], values[2]};
}

Status read_normalization(const Config& config, const Defaults& defaults, Normalization& out) {
  FOVEAL_TRY(const bool rescale, config.flag("do_rescale", true));
  FOVEAL_TRY(const double factor, config.real("rescale_factor", 1.0 / 255.0, 1e-12, 1e12));
  out.rescale_factor = rescale ? std::optional(factor) : std::nullopt;
  FOVEAL_TRY(const bool normalize, config.flag("do_normalize", true));
  if (normalize) {
    MeanStd values;
    FOVEAL_TRY(values.mean, read_channels(config, "image_mean", defaults.mean, -1e30));
    FOVEAL_TRY(values.std, read_channels(config, "image_std", defaults.std, 1e-30));
    out.mean_std = values;
  }
  return {};
}

// Python's round: half to even.
double round_half_even(double x) {
  return std::nearbyint(x);
}

// transformers, models/qwen2_vl/image_processing_qwen2_vl.py smart_resize.
ImageSize smart_size(const PreprocessSpec& spec, int factor, ImageSize size) {
  const auto h = static_cast<double>(size.height);
  const auto w = static_cast<double>(size.width);
  const auto f = static_cast<double>(factor);
  double height = round_half_even(h / f) * f;
  double width = round_half_even(w / f) * f;
  if (height * width > static_cast<double>(spec.max_pixels)) {
    const double beta = std::sqrt(h * w / static_cast<double>(spec.max_pixels));
    height = std::max(f, std::floor(h / beta / f) * f);
    width = std::max(f, std::floor(w / beta / f) * f);
  } else if (height * width < static_cast<double>(spec.min_pixels)) {
    const double beta = std::sqrt(static_cast<double>(spec.min_pixels) / (h * w));
    height = std::ceil(h * beta / f) * f;
    width = std::ceil(w * beta / f) * f;
  }
  return {static_cast<int>(height), static_cast<int>(width)};
}

}  // namespace

Result<PreprocessSpec> read_preprocess(const Config& config, ProcessorClass fallback,
                                       std::string_view family, const PatchGeometry& geometry) {
  FOVEAL_TRY(const Defaults* defaults, defaults_for(config, fallback, family));
  PreprocessSpec out;
  FOVEAL_TRY(out.filter, read_filter(config, defaults->resample, family));
  FOVEAL_TRY_STATUS(read_normalization(config, *defaults, out.normalization));
  if (defaults->processor == ProcessorClass::kQwen2Vl) {
    FOVEAL_TRY_STATUS(read_smart_size(config, family, geometry, out));
    return out;
  }
  if (geometry.merge_size > 1) {  // a fixed size need not be a multiple of what is merged
    return unsupported(config, family, "image_processor_type", std::string(defaults->prefix),
                       "a tower that merges patches takes Qwen2VL image processors");
  }
  FOVEAL_TRY_STATUS(read_size(config, *defaults, family, out));
  FOVEAL_TRY(const bool crop, config.flag("do_center_crop", defaults->crop > 0));
  if (crop) {
    FOVEAL_TRY(out.crop,
               read_rectangle(config, "crop_size", defaults->crop > 0 ? defaults->crop : 224));
  }
  return out;
}

Result<SizePlan> plan_size(const PreprocessSpec& spec, const PatchGeometry& geometry,
                           ImageSize size, ImageBackend backend, std::string_view name,
                           std::string_view family) {
  constexpr std::int64_t kMaxRatio = 200;  // smart_resize's own
  SizePlan out;
  switch (spec.rule) {
    case SizeRule::kKeep:
      out.resized = size;
      break;
    case SizeRule::kExact:
      out.resized = spec.exact;
      break;
    case SizeRule::kShortestEdge:
      out.resized = spec.longest_edge
                        ? shortest_edge_size(size, spec.shortest_edge, *spec.longest_edge)
                        : shortest_edge_size(size, spec.shortest_edge);
      break;
    case SizeRule::kSmart: {
      const std::int64_t longer = std::max(size.height, size.width);
      const std::int64_t shorter = std::min(size.height, size.width);
      if (shorter < 1 || longer > kMaxRatio * shorter) {
        return Error(ErrorCode::kImageAspectRatio, {{"file", name},
                                                    {"width", size.width},
                                                    {"height", size.height},
                                                    {"family", family},
                                                    {"limit", kMaxRatio}});
      }
      out.resized = smart_size(spec, geometry.patch_size * geometry.merge_size, size);
      break;
    }
  }
  out.final_size = out.resized;
  if (spec.crop) {
    out.window = center_window(out.resized, *spec.crop, backend);
    out.final_size = *spec.crop;
  }
  return out;
}

std::string to_json(const PreprocessSpec& spec) {
  nlohmann::json out;
  out["rule"] = static_cast<int>(spec.rule);
  out["exact"] = {spec.exact.height, spec.exact.width};
  out["shortest_edge"] = spec.shortest_edge;
  out["longest_edge"] = spec.longest_edge.value_or(0);
  out["pixels"] = {spec.min_pixels, spec.max_pixels};
  out["filter"] = static_cast<int>(spec.filter);
  out["crop"] = spec.crop ? nlohmann::json{spec.crop->height, spec.crop->width} : nlohmann::json();
  out["rescale_factor"] = spec.normalization.rescale_factor.value_or(1.0);
  if (spec.normalization.mean_std) {
    out["mean"] = spec.normalization.mean_std->mean;
    out["std"] = spec.normalization.mean_std->std;
  }
  return out.dump();
}

}  // namespace foveal
