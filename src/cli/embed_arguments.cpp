#include "cli/embed_arguments.hpp"

#include "cli/choices.hpp"
#include "cli/hub_cache.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>

namespace foveal::cli {
namespace {

template <class T>
void read(const Json& json, const char* key, T& to) {
  if (json.contains(key)) {
    try {
      to = json.at(key).get<T>();
    } catch (const Json::exception&) {
      return;  // another version wrote it: the default, and the fingerprints are compared anyway
    }
  }
}

}  // namespace

void add_compute_flags(CLI::App& app, ModelArguments& to) {
  app.add_option("--dtype", to.dtype, "auto (bf16 with AMX, else f32), f32, bf16 or f16")
      ->capture_default_str();
  app.add_option("--device", to.device, "auto, cpu, cuda or cuda:N")->capture_default_str();
  app.add_option("--backend", to.backend, "auto, or a name that `foveal backends` lists")
      ->capture_default_str();
  app.add_option("--threads", to.threads, "threads; 0: as many as this process may use")
      ->capture_default_str();
}

void add_vector_flags(CLI::App& app, ModelArguments& to) {
  app.add_option("--layer", to.layer,
                 "pooled is CLS (else the mean) of hidden_states.N, without final norm");
  app.add_flag("--normalize", to.normalize, "scale pooled to length 1");
}

void add_picture_flags(CLI::App& app, ModelArguments& to) {
  app.add_option("--resize", to.resize, "torchvision or pillow: whose bytes to give")
      ->capture_default_str();
  app.add_option("--background", to.background,
                 "RRGGBB to blend transparent pictures onto (default: alpha is dropped)");
  app.add_flag("--fast-jpeg", to.fast_jpeg,
               "decode large JPEGs at a fraction of their size: faster, not the same bytes");
  app.add_flag("--interpolate-pos-encoding", to.interpolate_positions,
               "positions for other sizes than trained");
  app.add_option("--max-pixels", to.max_pixels, "refuse pictures of more pixels")
      ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str();
  app.add_option("--max-bytes", to.max_bytes, "refuse files of more bytes")
      ->check(CLI::Range(std::int64_t{1}, std::numeric_limits<std::int64_t>::max()))
      ->capture_default_str();
}

ContextOptions context_options(const ModelArguments& arguments) {
  ContextOptions options;
  options.threads = arguments.threads;
  options.backend = arguments.backend;
  return options;
}

Result<EncoderOptions> encoder_options(const ModelArguments& arguments) {
  EncoderOptions options;
  FOVEAL_TRY(options.dtype, parse_dtype(arguments.dtype));
  FOVEAL_TRY(options.resize, parse_resize(arguments.resize));
  FOVEAL_TRY(options.decode.background, parse_background(arguments.background));
  options.device = arguments.device;
  options.hub_cache = hub_cache_folder().string();
  options.fast_jpeg = arguments.fast_jpeg ? FastJpeg::kYes : FastJpeg::kNo;
  options.positions =
      arguments.interpolate_positions ? PositionMode::kInterpolate : PositionMode::kAsTrained;
  options.decode.limits.max_pixels = arguments.max_pixels;
  options.decode.limits.max_bytes = Bytes(arguments.max_bytes);
  return options;
}

EmbedOptions embed_options(const ModelArguments& arguments) {
  EmbedOptions options;
  options.layer = arguments.layer;
  options.normalize = arguments.normalize ? Normalize::kYes : Normalize::kNo;
  return options;
}

std::string to_metadata(const ModelArguments& a) {
  std::error_code failed;
  // A folder is found again from elsewhere; a name of the hub stays one.
  const std::filesystem::path folder = std::filesystem::canonical(a.model, failed);
  Json json = {{"model", failed ? a.model : folder.string()},
               {"dtype", a.dtype},
               {"normalize", a.normalize},
               {"resize", a.resize},
               {"background", a.background},
               {"fast_jpeg", a.fast_jpeg},
               {"interpolate_positions", a.interpolate_positions}};
  if (a.layer) {
    json["layer"] = *a.layer;
  }
  return io::dump(json);
}

ModelArguments from_metadata(std::string_view text) {
  ModelArguments out;
  const Json json = io::parse(text);
  if (!json.is_object()) {
    return out;
  }
  read(json, "model", out.model);
  read(json, "dtype", out.dtype);
  read(json, "normalize", out.normalize);
  read(json, "resize", out.resize);
  read(json, "background", out.background);
  read(json, "fast_jpeg", out.fast_jpeg);
  read(json, "interpolate_positions", out.interpolate_positions);
  if (std::int64_t layer = 0; json.contains("layer")) {
    read(json, "layer", layer);
    out.layer = layer;
  }
  return out;
}

std::vector<std::string> split_names(std::string_view names) {
  std::vector<std::string> out;
  while (!names.empty()) {
    const std::size_t comma = std::min(names.find(','), names.size());
    if (comma > 0) {
      out.emplace_back(names.substr(0, comma));
    }
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return out;
}

}  // namespace foveal::cli
