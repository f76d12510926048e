// The one table of attention backends, best first, reference last: the only file that names them.
#pragma once

#include "backends/cpu/cpu.hpp"
#include "backends/no_cuda/no_cuda.hpp"
#include "backends/reference/reference.hpp"

#include <array>

namespace foveal {

inline constexpr std::array kBackends{no_cuda::kSm90, no_cuda::kCudnn, no_cuda::kCudaGeneric,
                                      cpu::kBackend, reference::kBackend};

}  // namespace foveal
