#include "model/weights.hpp"

#include "model/config.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <system_error>

namespace foveal {
namespace {

namespace fs = std::filesystem;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

constexpr std::string_view kSingle = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";

// weight_map of the index: tensor name -> file name, checked to be plain file names.
Result<std::map<std::string, std::string>> read_index(const fs::path& path) {
  FOVEAL_TRY(const auto document, read_json(path.string()));
  const auto invalid = [&](std::string_view reason) {
    return Error(ErrorCode::kJsonInvalid, {{"file", path.string()}, {"reason", reason}});
  };
  if (!document->is_object()) {
    return invalid("it is no object");
  }
  const auto it = document->find("weight_map");
  if (it == document->end() || !it->is_object() || it->empty()) {
    return invalid("it has no weight_map");
  }
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : it->items()) {
    if (!value.is_string()) {
      return invalid("weight_map has a value that is no file name");
    }
    auto file = value.get<std::string>();
    if (file.empty() || file.find('/') != std::string::npos || file == "..") {
      return invalid("weight_map names a file outside of the folder: " + file);
    }
    out[name] = std::move(file);
  }
  return out;
}

}  // namespace

Result<WeightFiles> WeightFiles::open(const std::string& folder) {
  WeightFiles out;
  out.folder_ = folder;
  const fs::path root(folder);
  const auto add = [&](const fs::path& path) -> Result<const SafetensorsFile*> {
    FOVEAL_TRY(SafetensorsFile file, SafetensorsFile::open(path.string()));
    out.files_.push_back(std::make_unique<SafetensorsFile>(std::move(file)));
    return out.files_.back().get();
  };
  if (is_file(root / kSingle)) {
    FOVEAL_TRY(const SafetensorsFile* file, add(root / kSingle));
    for (const SafetensorsEntry& entry : file->entries()) {
      out.tensors_.emplace(entry.name, Found{file, &entry});
    }
    return out;
  }
  if (!is_file(root / kIndex)) {
    return Error(ErrorCode::kModelFileMissing,
                 {{"folder", folder},
                  {"file", kSingle},
                  {"expected",
                   "download model.safetensors, or the shards with model.safetensors.index.json"}});
  }
  FOVEAL_TRY(const auto index, read_index(root / kIndex));
  std::map<std::string, const SafetensorsFile*> opened;
  for (const auto& [name, file_name] : index) {
    if (!opened.contains(file_name)) {
      if (!is_file(root / file_name)) {
        return Error(ErrorCode::kShardMissing,
                     {{"index", (root / kIndex).string()}, {"file", file_name}});
      }
      FOVEAL_TRY(const SafetensorsFile* file, add(root / file_name));
      opened[file_name] = file;
    }
    const SafetensorsFile* file = opened[file_name];
    const SafetensorsEntry* entry = file->find(name);
    if (entry == nullptr) {
      return Error(ErrorCode::kShardTensorMissing,
                   {{"index", (root / kIndex).string()}, {"tensor", name}, {"file", file_name}});
    }
    out.tensors_.emplace(name, Found{file, entry});
  }
  // A tensor in two shards: which one counts is the index's word only while they agree on the name.
  for (const auto& [file_name, file] : opened) {
    for (const SafetensorsEntry& entry : file->entries()) {
      const auto it = out.tensors_.find(entry.name);
      if (it != out.tensors_.end() && it->second.file != file) {
        return Error(
            ErrorCode::kWeightDuplicate,
            {{"tensor", entry.name}, {"file", it->second.file->path()}, {"other", file->path()}});
      }
    }
  }
  return out;
}

WeightFiles::Found WeightFiles::find(std::string_view name) const {
  const auto it = tensors_.find(name);
  return it == tensors_.end() ? Found{} : it->second;
}

std::vector<std::string> WeightFiles::names() const {
  std::vector<std::string> out;
  out.reserve(tensors_.size());
  for (const auto& [name, found] : tensors_) {
    out.push_back(name);
  }
  return out;
}

std::string TensorLoader::full(std::string_view name) const {
  return name.starts_with('/') ? std::string(name.substr(1)) : prefix_ + std::string(name);
}

Result<ConstTensorView> TensorLoader::get(std::string_view name, const Shape& expected) {
  const std::string tensor = full(name);
  const auto found = files_.find(tensor);
  const auto quantised = [&](std::string_view method) {
    return Error(ErrorCode::kWeightsQuantised, {{"path", files_.folder()}, {"method", method}});
  };
  if (!found) {
    // NAME.weight becomes NAME.qweight with GPTQ and AWQ, NAME.weight_packed with
    // compressed-tensors.
    const std::string stem = tensor.substr(0, tensor.rfind('.') + 1);
    for (const std::string_view packed : {"qweight", "weight_packed"}) {
      if (storage_ == Storage::kQuantised && files_.find(stem + std::string(packed))) {
        return quantised(packed);
      }
    }
    return Error(ErrorCode::kWeightMissing,
                 {{"folder", files_.folder()}, {"tensor", tensor}, {"family", family_}});
  }
  const SafetensorsEntry& entry = *found.entry;
  if (entry.dtype != DType::kF32 && entry.dtype != DType::kF16 && entry.dtype != DType::kBF16) {
    if (storage_ == Storage::kQuantised) {
      return quantised(entry.dtype_text);
    }
    return Error(ErrorCode::kWeightDtype, {{"tensor", tensor}, {"dtype", entry.dtype_text}});
  }
  if (entry.shape != expected) {
    return Error(ErrorCode::kWeightShape, {{"tensor", tensor},
                                           {"got", entry.shape.text()},
                                           {"expected", expected.text()},
                                           {"family", family_}});
  }
  if (read_.insert(tensor).second) {
    parameters_ += entry.shape.numel();
    dtypes_.insert(*entry.dtype);
  }
  used_.insert(tensor);
  return found.file->view(entry);
}

Result<Tensor> TensorLoader::get_f32(std::string_view name, const Shape& expected) {
  FOVEAL_TRY(const ConstTensorView view, get(name, expected));
  FOVEAL_TRY(Tensor out, Tensor::allocate(DType::kF32, expected, name));
  convert_to_f32(view.data, view.dtype, out.data<float>(), expected.numel());
  return out;
}

Status TensorLoader::finish(std::span<const std::string_view> others) const {
  std::int64_t count = 0;
  std::string first;
  for (const std::string& name : files_.names()) {
    if (!name.starts_with(prefix_) || used_.contains(name)) {
      continue;
    }
    bool other = false;
    for (const std::string_view head : others) {
      other = other || name.starts_with(head);
    }
    if (!other) {
      first = count++ == 0 ? name : first;
    }
  }
  if (count > 0) {
    return Error(ErrorCode::kWeightUnused,
                 {{"count", count}, {"tensor", first}, {"family", family_}});
  }
  return {};
}

}  // namespace foveal
