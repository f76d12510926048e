// The backends that a test runs on.
#pragma once

#include "attention_case.hpp"

#include <gtest/gtest.h>

namespace foveal::test {

// A backend of the table with an instruction set that this machine has.
struct Provider {
  std::string_view backend;
  CpuIsa isa = CpuIsa::kGeneric;
};

// The reason why the provider does not serve the problem; empty where it does.
inline std::string reason_of(const Provider& provider, const AttentionProblem& problem) {
  for (const Backend& b : kBackends) {
    if (b.name == provider.backend) {
      return b.decline(problem, machine_with(provider.isa, 1));
    }
  }
  return "not in the table";
}

// What any backend serves that can run here at all.
inline AttentionProblem plain_problem() {
  AttentionProblem p;
  p.heads = {.num_heads = 1, .num_kv_heads = 1, .head_dim = 64, .v_head_dim = 64};
  return p;
}

// Every backend of the table, once for each instruction set for which it has an instance of its
// own.
inline std::vector<Provider> providers() {
  std::vector<Provider> out;
  for (const Backend& b : kBackends) {
    std::string last;
    for (const CpuIsa isa : detect_cpu().available()) {
      const auto plan = make_plan(plain_problem(), kBackends, machine_with(isa, 1), b.name);
      const std::string instance = plan ? std::string(plan->instance()) : "none";
      if (instance != last) {
        out.push_back({b.name, isa});
      }
      last = instance;
    }
  }
  return out;
}

// Tests that run once a provider, and are skipped where it declines whatever it is asked.
class OnProvider : public testing::TestWithParam<Provider> {
 protected:
  void SetUp() override {
    if (const std::string reason = reason_of(GetParam(), plain_problem()); !reason.empty()) {
      GTEST_SKIP() << GetParam().backend << ": " << reason;
    }
  }
  Outputs run(const Inputs& in) const { return run_on(GetParam().backend, in, GetParam().isa); }
  // Served: equal to the reference, nothing outside written. Declining a single problem is allowed.
  void check(const Case& c) const {
    const Inputs in(c);
    if (reason_of(GetParam(), checked(in.problem()).value()).empty()) {
      EXPECT_EQ(difference(in, run(in), run_on("reference", in)), "");
    }
  }
};

inline std::string provider_name(const testing::TestParamInfo<Provider>& info) {
  std::string out(info.param.backend);
  out += info.param.backend == "cpu" ? "_" + std::string(isa_name(info.param.isa)) : "";
  return out;
}

}  // namespace foveal::test
