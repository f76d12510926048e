#include "io/model_files.hpp"

#include "tensor/safetensors.hpp"

#include <algorithm>
#include <system_error>

namespace foveal::io {

Result<std::vector<TensorSummary>> list_tensors(const std::filesystem::path& folder) {
  std::vector<TensorSummary> out;
  std::error_code failed;
  for (std::filesystem::directory_iterator it(folder, failed), end; !failed && it != end;
       it.increment(failed)) {
    const std::filesystem::directory_entry& entry = *it;
    if (entry.path().extension() != ".safetensors") {
      continue;
    }
    FOVEAL_TRY(const SafetensorsFile file, SafetensorsFile::open(entry.path().string()));
    for (const SafetensorsEntry& tensor : file.entries()) {
      out.push_back({.name = tensor.name,
                     .dtype = tensor.dtype_text,
                     .shape = tensor.shape,
                     .file = entry.path().filename().string()});
    }
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

}  // namespace foveal::io
