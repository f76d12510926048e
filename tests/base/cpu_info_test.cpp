// Instruction sets are listed ascending and can be forced by name; an absent one is an error with
// an id.
#include "base/cpu_info.hpp"

#include <gtest/gtest.h>

namespace foveal {
namespace {

TEST(CpuInfo, ListsWhatTheMachineHas) {
  const CpuInfo cpu = detect_cpu();
  const auto isas = cpu.available();
  ASSERT_FALSE(isas.empty());
  EXPECT_EQ(isas.front(), CpuIsa::kGeneric);
  EXPECT_EQ(isas.back(), cpu.best());
  for (const CpuIsa isa : isas) {
    EXPECT_EQ(choose_isa(cpu, isa_name(isa)).value(), isa);
  }
  EXPECT_EQ(choose_isa(cpu, "").value(), cpu.best());
  EXPECT_EQ(choose_isa(cpu, "auto").value(), cpu.best());
}

TEST(CpuInfo, RefusesAnAbsentInstructionSet) {
  const CpuInfo plain;
  const auto r = choose_isa(plain, "amx");
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), ErrorCode::kCpuIsaUnavailable);
  EXPECT_EQ(r.error().field("available")->text(), "generic");
  EXPECT_FALSE(choose_isa(detect_cpu(), "sse9"));
}

}  // namespace
}  // namespace foveal
