#include "backends/no_cuda/no_cuda.hpp"

#include "base/check.hpp"

namespace foveal::no_cuda {

Reason decline(const AttentionProblem& /*problem*/, const Machine& /*machine*/) {
  return "built without CUDA";
}

Result<BackendPlan> plan(const AttentionProblem& /*problem*/, const Machine& /*machine*/) {
  return internal_error("a backend that declined was asked for a plan", __FILE__, __LINE__);
}

Status run(const BackendPlan& /*plan*/, const AttentionProblem& /*problem*/, const QkvView& /*in*/,
           const OutView& /*out*/, Workspace /*workspace*/, StreamRef /*stream*/) {
  return internal_error("a backend that declined was asked to run", __FILE__, __LINE__);
}

}  // namespace foveal::no_cuda
