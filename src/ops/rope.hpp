// Rotary position embedding in place on q or k: (T, num_heads, head_dim), rows and heads of any
// stride. cos, sin (T, head_dim) f32 contiguous.
#pragma once

#include "ops/exec.hpp"

#include <foveal/error.hpp>
#include <foveal/tensor_view.hpp>

namespace foveal::ops {

enum class RopeStyle : std::uint8_t {
  kRotateHalf,   // x * cos + rotate_half(x) * sin, rotate_half(x) = [-x[d/2:], x[:d/2]]
  kInterleaved,  // pairs (x[2i], x[2i+1])
};

// x f32 or bf16 (computed in f32). ShapeMismatch, DtypeUnsupported.
Status rope(const Exec& exec, const TensorView& x, const float* cos, const float* sin,
            RopeStyle style);

}  // namespace foveal::ops
