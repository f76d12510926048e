// Rotary embedding on the CPU: one head of one row at a time, in memory order.
#include "ops/rope_cpu.hpp"

#include "ops/cpu/dispatch.hpp"
#include "ops/rows_work.hpp"

namespace foveal::ops::cpu {

void rope(const Exec& exec, const TensorView& x, const float* cos, const float* sin,
          RopeStyle style) {
  const KernelTable& kernels = kernels_for(exec.isa);
  const auto kernel =
      style == RopeStyle::kRotateHalf ? kernels.rope_half : kernels.rope_interleaved;
  const std::int64_t heads = x.shape[1];
  const std::int64_t n = x.shape[2];
  for_row_ranges(exec, x.shape[0], heads * n, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t r = first; r < last; ++r) {
      for (std::int64_t h = 0; h < heads; ++h) {
        kernel(row_at(x, r * x.strides[0].v + h * x.strides[1].v), cos + r * n, sin + r * n, n);
      }
    }
  });
}

}  // namespace foveal::ops::cpu
