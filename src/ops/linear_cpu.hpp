// The CPU's half of linear.hpp: arguments are checked. Private to src/ops.
#pragma once

#include "ops/linear.hpp"

namespace foveal::ops::cpu {

Status linear(const Exec& exec, const LinearArgs& args);

}  // namespace foveal::ops::cpu
