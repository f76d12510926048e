// Checks of the rotary embedding.
#include "ops/rope.hpp"

#include "ops/checks.hpp"
#include "ops/rope_cpu.hpp"

namespace foveal::ops {

Status rope(const Exec& exec, const TensorView& x, const float* cos, const float* sin,
            RopeStyle style) {
  FOVEAL_TRY_STATUS(check_device(exec));
  if (x.shape.rank() != 3 || x.shape[2] % 2 != 0) {
    return shape_mismatch("rope input", x.shape, "(T, num_heads, head_dim) with an even head_dim");
  }
  FOVEAL_TRY_STATUS(check_float("rope input", x.dtype));
  FOVEAL_TRY_STATUS(check_layout(exec, "rope input", x));
  cpu::rope(exec, x, cos, sin, style);
  return {};
}

}  // namespace foveal::ops
