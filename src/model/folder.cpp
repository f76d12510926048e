#include "model/folder.hpp"

#include "base/regular_file.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

namespace foveal {
namespace {

namespace fs = std::filesystem;

bool present(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

// Names of the files in a folder, sorted; empty where it cannot be read.
std::vector<std::string> file_names(const fs::path& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    out.push_back(it->path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::optional<std::string> with_extension(const std::vector<std::string>& names,
                                          std::initializer_list<std::string_view> extensions) {
  for (const std::string& name : names) {
    for (const std::string_view extension : extensions) {
      if (name.size() > extension.size() && name.ends_with(extension)) {
        return name;
      }
    }
  }
  return std::nullopt;
}

bool is_pickle(std::string_view name) {
  return name.ends_with(".bin") || name.ends_with(".pth") || name.ends_with(".pt") ||
         name.ends_with(".ckpt");
}

std::optional<Error> foreign_file(const fs::path& path) {
  const std::string name = path.filename().string();
  if (name.ends_with(".gguf")) {
    return Error(ErrorCode::kFormatGguf, {{"path", path.string()}});
  }
  if (name.ends_with(".onnx")) {
    return Error(ErrorCode::kFormatOnnx, {{"path", path.string()}});
  }
  if (is_pickle(name)) {
    return Error(ErrorCode::kFormatPickle, {{"path", path.parent_path().string()}, {"file", name}});
  }
  return std::nullopt;
}

// Why a folder without readable weights or config is none of ours; nullopt where nothing foreign
// shows.
std::optional<Error> foreign_folder(const fs::path& folder, const std::vector<std::string>& names) {
  const auto has = [&](std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const std::string path = folder.string();
  const bool config = has("config.json");
  if (has("open_clip_config.json") && !config) {
    return Error(ErrorCode::kFormatOpenClip, {{"path", path}});
  }
  if (with_extension(names, {".safetensors"})) {
    return std::nullopt;
  }
  if (with_extension(names, {".gguf"})) {
    return Error(ErrorCode::kFormatGguf, {{"path", path}});
  }
  if (const auto file = with_extension(names, {".bin", ".pth", ".pt", ".ckpt"})) {
    return Error(ErrorCode::kFormatPickle, {{"path", path}, {"file", *file}});
  }
  if (with_extension(names, {".onnx"}) || present(folder / "onnx")) {
    return Error(ErrorCode::kFormatOnnx, {{"path", path}});
  }
  return std::nullopt;
}

// org/name[@revision] in the layout of huggingface_hub: models--org--name/{refs,snapshots}.
std::optional<fs::path> in_cache(const std::string& model, const fs::path& cache) {
  const auto at = model.find('@');
  const std::string name = model.substr(0, at);
  const std::string revision = at == std::string::npos ? "main" : model.substr(at + 1);
  const auto slash = name.find('/');
  if (slash == std::string::npos || name.find('/', slash + 1) != std::string::npos ||
      name.find("..") != std::string::npos || revision.find("..") != std::string::npos ||
      revision.starts_with('/')) {
    return std::nullopt;
  }
  const fs::path repo =
      cache / ("models--" + name.substr(0, slash) + "--" + name.substr(slash + 1));
  constexpr std::int64_t kMaxRef = 4096;  // bytes; a ref is the 40 digits of a commit
  const FileText ref = read_regular_file((repo / "refs" / revision).string(), kMaxRef);
  std::string commit = ref.failure.empty() ? ref.text.substr(0, ref.text.find('\n')) : revision;
  while (!commit.empty() && (commit.back() == '\r' || commit.back() == ' ')) {
    commit.pop_back();
  }
  // A snapshot is a folder of this repository, whatever the ref says.
  if (commit.empty() || commit == "." || commit == ".." || commit.find('/') != std::string::npos) {
    return std::nullopt;
  }
  fs::path snapshot = repo / "snapshots" / commit;
  return present(snapshot) ? std::optional(std::move(snapshot)) : std::nullopt;
}

Error file_missing(const std::string& folder, std::string_view file, std::string_view expected) {
  return Error(ErrorCode::kModelFileMissing,
               {{"folder", folder}, {"file", file}, {"expected", expected}});
}

Result<Config> open_config(const fs::path& path) {
  FOVEAL_TRY(auto document, read_json(path.string()));
  if (!document->is_object()) {
    return Error(ErrorCode::kJsonInvalid, {{"file", path.string()}, {"reason", "it is no object"}});
  }
  return Config(std::move(document), path.string());
}

}  // namespace

Result<std::string> find_model(const std::string& model, const std::string& hub_cache) {
  std::error_code ignored;
  if (fs::is_directory(model, ignored)) {
    return model;
  }
  if (fs::is_regular_file(model, ignored)) {
    if (auto error = foreign_file(model)) {
      return *std::move(error);
    }
    // A path to config.json or to the weights: its folder is meant.
    if (model.ends_with(".json") || model.ends_with(".safetensors")) {
      const fs::path parent = fs::path(model).parent_path();
      return parent.empty() ? std::string(".") : parent.string();
    }
  }
  if (!hub_cache.empty()) {
    if (const auto found = in_cache(model, hub_cache)) {
      return found->string();
    }
  }
  return Error(ErrorCode::kModelNotFound,
               {{"model", model}, {"cache", hub_cache.empty() ? "none is set" : hub_cache}});
}

Result<ModelFolder> open_model_folder(const std::string& path) {
  const fs::path folder(path);
  const std::vector<std::string> names = file_names(folder);
  if (auto error = foreign_folder(folder, names)) {
    return *std::move(error);
  }
  if (!present(folder / "config.json")) {
    return file_missing(path, "config.json",
                        "pass a folder that save_pretrained or `hf download` made");
  }
  FOVEAL_TRY(Config config, open_config(folder / "config.json"));
  if (config.has("pretrained_cfg") || (config.has("architecture") && !config.has("model_type"))) {
    return Error(ErrorCode::kFormatTimm, {{"path", path}});
  }
  if (config.has("model_cfg") && config.has("preprocess_cfg")) {
    return Error(ErrorCode::kFormatOpenClip, {{"path", path}});
  }
  if (present(folder / "preprocessor_config.json")) {
    FOVEAL_TRY(Config preprocessor, open_config(folder / "preprocessor_config.json"));
    return ModelFolder{path, std::move(config), std::move(preprocessor)};
  }
  if (present(folder / "processor_config.json")) {
    FOVEAL_TRY(Config processor, open_config(folder / "processor_config.json"));
    FOVEAL_TRY(Config preprocessor, processor.child("image_processor"));
    if (processor.has("image_processor")) {
      return ModelFolder{path, std::move(config), std::move(preprocessor)};
    }
  }
  return file_missing(path, "preprocessor_config.json",
                      "download preprocessor_config.json (or processor_config.json) too: sizes and "
                      "means are in it");
}

}  // namespace foveal
