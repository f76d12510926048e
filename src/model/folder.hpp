// From what the user names to an opened model folder: look-up in the Hugging Face cache,
// recognition of formats that Foveal does not read, config.json and the preprocessor's file.
#pragma once

#include "model/config.hpp"

#include <foveal/error.hpp>

#include <string>
#include <string_view>

namespace foveal {

struct ModelFolder {
  std::string path;
  Config config;        // config.json
  Config preprocessor;  // preprocessor_config.json, or image_processor of processor_config.json
};

// model: a folder, or org/name[@revision]; hub_cache: may be empty. Returns the folder's path.
// ModelNotFound, and the formats' errors where `model` is a file of a foreign format.
Result<std::string> find_model(const std::string& model, const std::string& hub_cache);

// ModelFileMissing, JsonInvalid, FormatGguf, FormatOnnx, FormatPickle, FormatOpenClip, FormatTimm.
Result<ModelFolder> open_model_folder(const std::string& path);

}  // namespace foveal
