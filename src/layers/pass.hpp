// What a layer needs beside its weights and inputs: where it runs, scratch memory, the dtype of the
// products.
#pragma once

#include "ops/exec.hpp"
#include "tensor/arena.hpp"

namespace foveal::layers {

// Hidden states stay in f32 between layers; inputs of matrix products are in `compute` (f32 or
// bf16).
struct Pass {
  const Exec& exec;
  Arena& arena;
  DType compute = DType::kF32;
};

}  // namespace foveal::layers
