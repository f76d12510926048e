// What a backend is: whether, decided apart from how. A table of these, best first, is handed to
// make_plan; attention knows none of them by name.
#pragma once

#include "base/cpu_info.hpp"

#include <foveal/attention/plan.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace foveal {

// What a backend may look at to decide: the CPU, the instruction set in force, the threads.
struct Machine {
  CpuInfo cpu;
  CpuIsa isa = CpuIsa::kGeneric;
  int threads = 1;
};

// Empty: I serve it. Else a sentence that says why not, with the values.
using Reason = std::string;

struct BackendPlan {
  std::string instance;  // the compiled specialisation that runs, "avx512/f32"
  Bytes workspace;
  std::string note;                   // printed by describe(); may be empty
  std::shared_ptr<const void> state;  // the backend's own; may be null
};

struct Backend {  // no virtuals, no registration at static-init time
  std::string_view name;
  Reason (*decline)(const AttentionProblem&, const Machine&);
  Result<BackendPlan> (*plan)(const AttentionProblem&, const Machine&);
  // The views have been checked against the plan.
  Status (*run)(const BackendPlan&, const AttentionProblem&, const QkvView&, const OutView&,
                Workspace, StreamRef);
};

// forced: empty or "auto" takes the best that does not decline; a name takes that one or fails.
// BackendUnknown, BackendDeclined, NoBackend, and what checked() finds.
Result<AttentionPlan> make_plan(AttentionProblem problem, std::span<const Backend> backends,
                                const Machine& machine, std::string_view forced);

}  // namespace foveal
