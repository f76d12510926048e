// Which instruction sets this CPU and this kernel offer: CPUID, XCR0 and, for AMX, the permission
// of the kernel. Detected once by whoever owns the Context; forceable by name.
#pragma once

#include <foveal/error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace foveal {

// Ascending: a machine that has one has all before it.
enum class CpuIsa { kGeneric, kAvx2, kAvx512, kAmx };

std::string_view isa_name(CpuIsa isa);  // "generic", "avx2", "avx512", "amx"

struct CpuInfo {
  std::string model;    // "AMD EPYC ..." or "unknown"
  bool avx2 = false;    // with FMA and F16C
  bool avx512 = false;  // F, BW, DQ, VL
  bool avx512_bf16 = false;
  bool amx_bf16 = false;  // tiles permitted by the kernel too
  CpuIsa best() const {
    return amx_bf16 && avx512 ? CpuIsa::kAmx
           : avx512           ? CpuIsa::kAvx512
           : avx2             ? CpuIsa::kAvx2
                              : CpuIsa::kGeneric;
  }
  bool has(CpuIsa isa) const { return isa <= best(); }
  std::vector<CpuIsa> available() const;
};

// Asks the CPU and the kernel; asks for the AMX permission of this process where the CPU has AMX.
CpuInfo detect_cpu();

// "auto" or empty: the best. An unknown name or one that the machine lacks: CpuIsaUnavailable.
Result<CpuIsa> choose_isa(const CpuInfo& cpu, std::string_view forced);

}  // namespace foveal
