// The reference backend: every option, double precision, obvious. It judges the others and is never
// tuned.
#pragma once

#include "attention/backend.hpp"

namespace foveal::reference {

Reason decline(const AttentionProblem& problem, const Machine& machine);
Result<BackendPlan> plan(const AttentionProblem& problem, const Machine& machine);
Status run(const BackendPlan& plan, const AttentionProblem& problem, const QkvView& in,
           const OutView& out, Workspace workspace, StreamRef stream);

inline constexpr Backend kBackend{"reference", decline, plan, run};

}  // namespace foveal::reference
