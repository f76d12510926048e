#include "cli/hub_cache.hpp"

#include <cstdlib>
#include <string>

namespace foveal::cli {

std::filesystem::path hub_cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::filesystem::path(value == nullptr ? "" : value);
  };
  if (auto cache = variable("HF_HUB_CACHE"); !cache.empty()) {
    return cache;
  }
  if (const auto home = variable("HF_HOME"); !home.empty()) {
    return home / "hub";
  }
  if (const auto cache = variable("XDG_CACHE_HOME"); !cache.empty()) {
    return cache / "huggingface" / "hub";
  }
  const auto home = variable("HOME");
  return home.empty() ? home : home / ".cache" / "huggingface" / "hub";
}

}  // namespace foveal::cli
