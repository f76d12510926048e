// Fixture folders and the comparison that judges them: |got - want| <= atol and cosine >= cos, by
// case.json.
#pragma once

#include "tensor/safetensors.hpp"
#include "tensor/tensor.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace foveal::testing {

namespace fs = std::filesystem;

inline fs::path oracle_folder() {
  const char* set = std::getenv("FOVEAL_ORACLE");
  return set != nullptr ? fs::path(set) : fs::path(FOVEAL_SOURCE_DIR) / ".." / "shared" / "oracle";
}

inline fs::path golden_models() {
  return fs::path(FOVEAL_SOURCE_DIR) / "tests" / "golden" / "models";
}

// The committed copy, else the oracle's; empty where there is neither.
inline fs::path fixture(const std::string& name) {
  for (const fs::path& folder : {golden_models() / name, oracle_folder() / "fixtures" / name}) {
    if (fs::exists(folder / "case.json")) {
      return folder;
    }
  }
  return {};
}

inline nlohmann::json load_json(const fs::path& path) {
  std::ifstream in(path);
  return nlohmann::json::parse(in);
}

struct Difference {
  double max_abs = 0;
  double cosine = 1;
  std::size_t worst = 0;
  bool finite = true;
};

inline Difference difference(const std::vector<float>& got, const std::vector<float>& want) {
  Difference out;
  double dot = 0;
  double gg = 0;
  double ww = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto g = static_cast<double>(got[i]);
    const auto w = static_cast<double>(want[i]);
    out.finite = out.finite && std::isfinite(g);
    if (std::fabs(g - w) > out.max_abs) {
      out.max_abs = std::fabs(g - w);
      out.worst = i;
    }
    dot += g * w;
    gg += g * g;
    ww += w * w;
  }
  out.cosine = gg > 0 && ww > 0 ? dot / std::sqrt(gg * ww) : (gg == ww ? 1.0 : 0.0);
  return out;
}

// f32 values of a tensor in a safetensors file.
inline std::vector<float> load_f32(const SafetensorsFile& file, const std::string& name) {
  const SafetensorsEntry* entry = file.find(name);
  std::vector<float> out(entry == nullptr ? 0 : static_cast<std::size_t>(entry->shape.numel()));
  if (entry != nullptr) {
    const ConstTensorView view = file.view(*entry);
    convert_to_f32(view.data, view.dtype, out.data(), view.numel());
  }
  return out;
}

}  // namespace foveal::testing
