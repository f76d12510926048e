// From an instruction set to its kernels.
#pragma once

#include "base/cpu_info.hpp"
#include "ops/cpu/kernels.hpp"

namespace foveal::ops::cpu {

// The best table at or below `isa`. The caller has seen that the machine has `isa`.
const KernelTable& kernels_for(CpuIsa isa);

}  // namespace foveal::ops::cpu
