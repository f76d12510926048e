// CPUID leaves by the vendors' manuals; XCR0 says what the kernel saves on a context switch.
#include "base/cpu_info.hpp"

#include <array>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace foveal {

std::string_view isa_name(CpuIsa isa) {
  constexpr std::array<std::string_view, 4> kNames{"generic", "avx2", "avx512", "amx"};
  return kNames[static_cast<std::size_t>(isa)];
}

std::vector<CpuIsa> CpuInfo::available() const {
  std::vector<CpuIsa> out;
  for (const CpuIsa isa : {CpuIsa::kGeneric, CpuIsa::kAvx2, CpuIsa::kAvx512, CpuIsa::kAmx}) {
    if (has(isa)) {
      out.push_back(isa);
    }
  }
  return out;
}

#if defined(__x86_64__)
namespace {

struct Regs {
  std::uint32_t a = 0, b = 0, c = 0, d = 0;
};

Regs cpuid(std::uint32_t leaf, std::uint32_t sub = 0) {
  Regs r;
  if (__get_cpuid_count(leaf, sub, &r.a, &r.b, &r.c, &r.d) == 0) {
    return {};
  }
  return r;
}

std::uint64_t xcr0() {
  std::uint32_t lo = 0;
  std::uint32_t hi = 0;
  __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
  return (static_cast<std::uint64_t>(hi) << 32) | lo;
}

bool amx_permitted() {
  constexpr long kArchReqXcompPerm = 0x1023;  // asm/prctl.h; not in Debian 12's libc headers
  constexpr long kXfeatureXtiledata = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kXfeatureXtiledata) == 0;
}

constexpr bool bit(std::uint32_t reg, int n) {
  return ((reg >> n) & 1U) != 0;
}

}  // namespace

CpuInfo detect_cpu() {
  CpuInfo out;
  out.model = "unknown";
  std::array<std::uint32_t, 12> brand{};
  if (cpuid(0x80000000U).a >= 0x80000004U) {
    for (std::uint32_t i = 0; i < 3; ++i) {
      const Regs r = cpuid(0x80000002U + i);
      brand[4 * i] = r.a;
      brand[4 * i + 1] = r.b;
      brand[4 * i + 2] = r.c;
      brand[4 * i + 3] = r.d;
    }
    std::array<char, 49> text{};
    std::memcpy(text.data(), brand.data(), 48);
    out.model = text.data();
    while (!out.model.empty() && out.model.back() == ' ') {
      out.model.pop_back();
    }
  }
  const Regs leaf1 = cpuid(1);
  if (!bit(leaf1.c, 27)) {  // OSXSAVE: without it xgetbv is not allowed
    return out;
  }
  const std::uint64_t saved = xcr0();
  const bool ymm = (saved & 0x6) == 0x6;
  const bool zmm = ymm && (saved & 0xE0) == 0xE0;
  const bool tiles = (saved & 0x60000) == 0x60000;
  const Regs leaf7 = cpuid(7);
  const Regs leaf71 = cpuid(7, 1);
  out.avx2 = ymm && bit(leaf7.b, 5) && bit(leaf1.c, 12) && bit(leaf1.c, 29);
  out.avx512 = out.avx2 && zmm && bit(leaf7.b, 16) && bit(leaf7.b, 17) && bit(leaf7.b, 30) &&
               bit(leaf7.b, 31);
  out.avx512_bf16 = out.avx512 && bit(leaf71.a, 5);
  out.amx_bf16 = out.avx512 && tiles && bit(leaf7.d, 22) && bit(leaf7.d, 24) && amx_permitted();
  return out;
}
#else
CpuInfo detect_cpu() {
  return {.model = "unknown"};
}
#endif

Result<CpuIsa> choose_isa(const CpuInfo& cpu, std::string_view forced) {
  if (forced.empty() || forced == "auto") {
    return cpu.best();
  }
  std::string available;
  for (const CpuIsa isa : cpu.available()) {
    if (isa_name(isa) == forced) {
      return isa;
    }
    available += (available.empty() ? "" : ", ") + std::string(isa_name(isa));
  }
  return Error(ErrorCode::kCpuIsaUnavailable, {{"isa", forced}, {"available", available}});
}

}  // namespace foveal
