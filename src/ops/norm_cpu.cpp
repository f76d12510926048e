// Norms on the CPU: rows (or heads of rows) are independent.
#include "ops/norm_cpu.hpp"

#include "ops/cpu/dispatch.hpp"
#include "ops/rows_work.hpp"

namespace foveal::ops::cpu {

Status norm(const Exec& exec, const ConstTensorView& in, const NormWeights& weights,
            const TensorView& out) {
  const KernelTable& kernels = kernels_for(exec.isa);
  const auto kernel = weights.kind == NormKind::kLayerNorm ? kernels.layer_norm : kernels.rms_norm;
  const bool per_head = in.shape.rank() == 3;
  const std::int64_t heads = per_head ? in.shape[1] : 1;
  const std::int64_t n = in.shape[in.shape.rank() - 1];
  if (n == 0) {
    return {};
  }
  const auto parameter = [](const Tensor& t) {
    return t.shape().rank() > 0 && t.numel() > 0 ? t.data<float>() : nullptr;
  };
  const float* weight = parameter(weights.weight);
  const float* bias = parameter(weights.bias);
  for_row_ranges(exec, in.shape[0], heads * n, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t r = first; r < last; ++r) {
      for (std::int64_t h = 0; h < heads; ++h) {
        const std::int64_t from = r * in.strides[0].v + (per_head ? h * in.strides[1].v : 0);
        const std::int64_t to = r * out.strides[0].v + (per_head ? h * out.strides[1].v : 0);
        kernel({.in = row_at(in, from),
                .out = row_at(out, to),
                .n = n,
                .weight = weight,
                .bias = bias,
                .eps = weights.eps});
      }
    }
  });
  return {};
}

}  // namespace foveal::ops::cpu
