// Checks and packing of linear layers.
#include "ops/linear.hpp"

#include "base/check.hpp"
#include "ops/checks.hpp"
#include "ops/cpu/dispatch.hpp"
#include "ops/linear_cpu.hpp"

#include <algorithm>

namespace foveal::ops {
namespace {

Status check_weight_dtype(std::string_view what, DType dtype) {
  if (dtype != DType::kF32 && dtype != DType::kF16 && dtype != DType::kBF16) {
    return Error(ErrorCode::kDtypeUnsupported,
                 {{"what", what}, {"dtype", dtype_name(dtype)}, {"expected", "f32, f16, bf16"}});
  }
  return {};
}

Status check_contiguous(std::string_view what, const ConstTensorView& view, const Shape& expected) {
  if (!view.contiguous()) {
    return shape_mismatch(what, view.shape, expected.text() + ", contiguous");
  }
  return {};
}

}  // namespace

Result<LinearWeights> LinearWeights::pack(const Exec& exec, const ConstTensorView& weight,
                                          const std::optional<ConstTensorView>& bias,
                                          DType compute) {
  FOVEAL_TRY_STATUS(check_device(exec));
  FOVEAL_TRY_STATUS(check_weight_dtype("weight", weight.dtype));
  FOVEAL_TRY_STATUS(check_float("compute", compute));
  if (weight.shape.rank() != 2 || weight.shape[0] < 1 || weight.shape[1] < 1) {
    return shape_mismatch("weight", weight.shape, "(N, K) with N and K of 1 or more");
  }
  FOVEAL_TRY_STATUS(check_contiguous("weight", weight, weight.shape));
  const cpu::KernelTable& kernels = cpu::kernels_for(exec.isa);
  LinearWeights out;
  out.n_ = weight.shape[0];
  out.k_ = weight.shape[1];
  out.compute_ = compute;
  out.kernels_ = &kernels;
  if (bias) {
    FOVEAL_TRY_STATUS(check_weight_dtype("bias", bias->dtype));
    if (bias->shape != Shape{out.n_}) {
      return shape_mismatch("bias", bias->shape, Shape{out.n_}.text());
    }
    FOVEAL_TRY_STATUS(check_contiguous("bias", *bias, bias->shape));
    FOVEAL_TRY(out.bias_, Tensor::allocate(DType::kF32, {out.n_}, "bias"));
    convert_to_f32(bias->data, bias->dtype, out.bias_.data<float>(), out.n_);
    out.has_bias_ = true;
  }

  const std::int64_t width = kernels.panel_columns;
  const std::int64_t panels = (out.n_ + width - 1) / width;
  FOVEAL_TRY(out.packed_, Tensor::allocate(compute, {panels, out.k_, width}, "packed weights"));
  const std::int64_t workers = exec.pool->size();
  FOVEAL_TRY(Tensor rows, Tensor::allocate(DType::kF32, {workers, width, out.k_}, "weight rows"));
  const std::int64_t row_bytes = out.k_ * dtype_size(weight.dtype).v;
  const std::int64_t panel_elements = out.k_ * width;
  exec.pool->run(panels, [&](std::int64_t panel, int worker) {
    const std::int64_t first = panel * width;
    const std::int64_t count = std::min(width, out.n_ - first);
    float* widened = rows.data<float>() + worker * width * out.k_;
    convert_to_f32(weight.as<std::byte>() + first * row_bytes, weight.dtype, widened,
                   count * out.k_);
    if (compute == DType::kF32) {
      kernels.pack_f32(widened, count, out.k_, out.packed_.data<float>() + panel * panel_elements);
    } else {
      kernels.pack_bf16(widened, count, out.k_,
                        out.packed_.data<std::uint16_t>() + panel * panel_elements);
    }
  });
  return out;
}

Status linear(const Exec& exec, const LinearArgs& args) {
  FOVEAL_TRY_STATUS(check_device(exec));
  FOVEAL_CHECK(args.weights != nullptr && args.weights->kernels() != nullptr);
  const LinearWeights& w = *args.weights;
  if (args.in.shape.rank() != 2 || args.in.shape[1] != w.k()) {
    return shape_mismatch("in", args.in.shape, "(M, " + std::to_string(w.k()) + ")");
  }
  FOVEAL_TRY_STATUS(check_dtype("in", {args.in.dtype, "weights", w.compute()}));
  FOVEAL_TRY_STATUS(check_layout(exec, "in", args.in));
  const std::int64_t rows = args.in.shape[0];
  FOVEAL_TRY_STATUS(check_matrix(exec, "out", args.out, {rows, w.n()}));
  FOVEAL_TRY_STATUS(check_float("out", args.out.dtype));
  if (args.up != nullptr) {
    FOVEAL_CHECK(args.up->kernels() == w.kernels());
    if (args.up->n() != w.n() || args.up->k() != w.k()) {
      return shape_mismatch("up", {args.up->n(), args.up->k()}, Shape{w.n(), w.k()}.text());
    }
    FOVEAL_TRY_STATUS(check_dtype("up", {args.up->compute(), "weights", w.compute()}));
  }
  if (args.residual) {
    FOVEAL_TRY_STATUS(check_matrix(exec, "residual", *args.residual, {rows, w.n()}));
    FOVEAL_TRY_STATUS(check_dtype("residual", {args.residual->dtype, "sums", DType::kF32}));
  }
  return cpu::linear(exec, args);
}

}  // namespace foveal::ops
