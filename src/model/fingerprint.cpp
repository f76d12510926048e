#include "model/fingerprint.hpp"

#include "base/sha256.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace foveal {
namespace {

using nlohmann::json;

// Name, shape, dtype and a digest of the first 64 KiB of every used tensor: enough to tell two
// checkpoints apart without reading all of a large one.
std::string weights_digest(const WeightFiles& files, const std::set<std::string>& used) {
  constexpr std::int64_t kSample = 64 << 10;
  Sha256 digest;
  for (const std::string& name : used) {
    const auto found = files.find(name);
    const ConstTensorView view = found.file->view(*found.entry);
    digest.update(name + found.entry->shape.text() + found.entry->dtype_text);
    const std::int64_t bytes = std::min(kSample, view.numel() * dtype_size(view.dtype).v);
    digest.update(std::span(view.as<std::byte>(), static_cast<std::size_t>(bytes)));
  }
  return digest.finish_hex();
}

// What config.json decides beside the shapes of the weights. Taken from the spec, so that a sparse
// file and a complete one with the same values are the same model.
json tower_json(const TowerSpec& spec) {
  json out;
  out["heads"] = spec.block.attention.num_heads;
  out["activation"] = static_cast<int>(spec.block.mlp.activation);
  out["eps"] = {spec.block.norm1.eps, spec.block.norm2.eps, spec.final_norm.eps,
                spec.pre_norm ? spec.pre_norm->eps : 0.0};
  out["final_norm"] = static_cast<int>(spec.final_norm_use);
  out["head"] = spec.head.index();
  out["rope_theta"] = spec.rope ? spec.rope->theta : 0.0;
  out["deepstack"] = spec.deepstack_layers;
  out["merge_size"] = spec.patch.geometry.merge_size;
  if (spec.windows) {
    out["windows"] = {spec.windows->window_cells, spec.windows->full_layers};
  }
  if (spec.positions) {
    out["positions"] = {spec.positions->grid.h, spec.positions->grid.w,
                        static_cast<int>(spec.positions->filter)};
  }
  return out;
}

}  // namespace

std::string model_fingerprint(const TowerSpec& spec, const WeightFiles& files,
                              const std::set<std::string>& used) {
  json out;
  out["family"] = spec.family;
  out["tower"] = tower_json(spec);
  out["weights"] = weights_digest(files, used);
  out["preprocess"] = json::parse(to_json(spec.preprocess));
  return out.dump();
}

}  // namespace foveal
