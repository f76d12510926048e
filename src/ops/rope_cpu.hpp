// The CPU's half of rope.hpp: arguments are checked. Private to src/ops.
#pragma once

#include "ops/rope.hpp"

namespace foveal::ops::cpu {

void rope(const Exec& exec, const TensorView& x, const float* cos, const float* sin,
          RopeStyle style);

}  // namespace foveal::ops::cpu
