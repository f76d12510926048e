// A tower's weights, packed for the device, as its spec describes them.
#pragma once

#include "layers/block.hpp"
#include "model/spec.hpp"
#include "model/weights.hpp"

#include <optional>
#include <variant>
#include <vector>

namespace foveal {

struct AttentionPoolWeights {
  Tensor query;  // (hidden) f32: the probe through its projection, the same for every picture
  ops::LinearWeights kv;    // (2 * hidden, hidden)
  ops::LinearWeights proj;  // (hidden, hidden)
  ops::NormWeights norm;
  layers::MlpWeights mlp;
};

struct MergerWeights {
  ops::NormWeights norm;
  layers::MlpWeights mlp;
};

struct TowerWeights {
  ops::LinearWeights patch;
  Tensor prefix;     // (prefix_rows, hidden) f32, the CLS row with its position added
  Tensor positions;  // (grid.h * grid.w, hidden) f32, without the CLS row
  std::optional<ops::NormWeights> pre_norm;
  std::vector<layers::BlockWeights> blocks;
  std::optional<ops::NormWeights> final_norm;
  std::optional<ops::LinearWeights> dense;  // ClsHead
  std::optional<AttentionPoolWeights> pool;
  std::optional<MergerWeights> merger;
  std::vector<MergerWeights> deepstack;
};

// compute: kF32 or kBF16. Errors: those of TensorLoader, OutOfMemory.
Result<TowerWeights> load_tower(const TowerSpec& spec, TensorLoader& loader, const Exec& exec,
                                DType compute);

}  // namespace foveal
