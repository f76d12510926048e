// Checks of the norms.
#include "ops/norm.hpp"

#include "ops/checks.hpp"
#include "ops/norm_cpu.hpp"

namespace foveal::ops {
namespace {

Status check_weight(std::string_view name, const Tensor& weight, std::int64_t n) {
  if (weight.shape().rank() == 0 || weight.numel() == 0) {
    return {};
  }
  if (weight.shape() != Shape{n}) {
    return shape_mismatch(name, weight.shape(), Shape{n}.text());
  }
  return check_dtype(name, {weight.dtype(), "statistics", DType::kF32});
}

}  // namespace

Status norm(const Exec& exec, const ConstTensorView& in, const NormWeights& weights,
            const TensorView& out) {
  FOVEAL_TRY_STATUS(check_device(exec));
  const int rank = in.shape.rank();
  if (rank != 2 && rank != 3) {
    return shape_mismatch("in", in.shape, "(M, N) or (M, H, N)");
  }
  if (out.shape != in.shape) {
    return shape_mismatch("out", out.shape, in.shape.text());
  }
  FOVEAL_TRY_STATUS(check_float("in", in.dtype));
  FOVEAL_TRY_STATUS(check_float("out", out.dtype));
  FOVEAL_TRY_STATUS(check_layout(exec, "in", in));
  FOVEAL_TRY_STATUS(check_layout(exec, "out", out));
  const std::int64_t n = in.shape[rank - 1];
  FOVEAL_TRY_STATUS(check_weight("norm weight", weights.weight, n));
  FOVEAL_TRY_STATUS(check_weight("norm bias", weights.bias, n));
  return cpu::norm(exec, in, weights, out);
}

}  // namespace foveal::ops
