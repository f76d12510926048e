// The CPU backend: tiled attention with an online softmax, for float32, float16 and bfloat16, in
// the best instruction set that the machine has (Machine.isa forces a lesser one). Serves every
// option.
#pragma once

#include "attention/backend.hpp"

namespace foveal::cpu {

Reason decline(const AttentionProblem& problem, const Machine& machine);
Result<BackendPlan> plan(const AttentionProblem& problem, const Machine& machine);
Status run(const BackendPlan& plan, const AttentionProblem& problem, const QkvView& in,
           const OutView& out, Workspace workspace, StreamRef stream);

inline constexpr Backend kBackend{"cpu", decline, plan, run};

}  // namespace foveal::cpu
