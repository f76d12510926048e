// The one list of kernel tables.
#include "ops/cpu/dispatch.hpp"

#include <array>

namespace foveal::ops::cpu {
namespace {

struct Entry {
  CpuIsa isa;
  const KernelTable* table;
};

// Best first; generic last, which every machine has. A new instruction set is a unit and a row
// here.
constexpr std::array kTables {
#if defined(FOVEAL_OPS_AVX512)
  Entry{CpuIsa::kAvx512, &kAvx512Kernels},
#endif
      Entry{CpuIsa::kGeneric, &kGenericKernels},
};

}  // namespace

const KernelTable& kernels_for(CpuIsa isa) {
  for (const Entry& entry : kTables) {
    if (entry.isa <= isa) {
      return *entry.table;
    }
  }
  return kGenericKernels;
}

}  // namespace foveal::ops::cpu
