// Where the Hugging Face client keeps models on disk. Read from the environment here, because only
// front ends read it.
#pragma once

#include <filesystem>

namespace foveal::cli {

// HF_HUB_CACHE, else HF_HOME/hub, else XDG_CACHE_HOME/huggingface/hub, else
// HOME/.cache/huggingface/hub. Empty where none of them is set.
std::filesystem::path hub_cache_folder();

}  // namespace foveal::cli
