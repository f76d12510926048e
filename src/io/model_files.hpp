// The tensors of a model folder's safetensors files, from their headers alone: for `inspect`.
#pragma once

#include <foveal/error.hpp>
#include <foveal/tensor_view.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace foveal::io {

struct TensorSummary {
  std::string name;
  std::string dtype;  // as in the file: "BF16"
  Shape shape;
  std::string file;  // within the folder
};

// By name. SafetensorsInvalid, SafetensorsTruncated.
Result<std::vector<TensorSummary>> list_tensors(const std::filesystem::path& folder);

}  // namespace foveal::io
