// The CPU's half of norm.hpp: arguments are checked. Private to src/ops.
#pragma once

#include "ops/norm.hpp"

namespace foveal::ops::cpu {

Status norm(const Exec& exec, const ConstTensorView& in, const NormWeights& weights,
            const TensorView& out);

}  // namespace foveal::ops::cpu
