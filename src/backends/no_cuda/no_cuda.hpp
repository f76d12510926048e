// Stands in for the GPU backends in a build without CUDA: they are in the table and decline with
// the reason.
#pragma once

#include "attention/backend.hpp"

namespace foveal::no_cuda {

Reason decline(const AttentionProblem& problem, const Machine& machine);
Result<BackendPlan> plan(const AttentionProblem& problem, const Machine& machine);
Status run(const BackendPlan& plan, const AttentionProblem& problem, const QkvView& in,
           const OutView& out, Workspace workspace, StreamRef stream);

inline constexpr Backend kSm90{"sm90", decline, plan, run};
inline constexpr Backend kCudnn{"cudnn", decline, plan, run};
inline constexpr Backend kCudaGeneric{"cuda_generic", decline, plan, run};

}  // namespace foveal::no_cuda
