// Where and how an op runs: device, threads, instruction set. Every op takes one and dispatches on
// it; a CUDA stream joins here later.
#pragma once

#include "base/cpu_info.hpp"
#include "base/thread_pool.hpp"

#include <foveal/tensor_view.hpp>

namespace foveal {

struct Exec {
  Device device;
  ThreadPool* pool = nullptr;  // never null
  CpuIsa isa = CpuIsa::kGeneric;
};

}  // namespace foveal
