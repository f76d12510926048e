// LayerNorm and RMSNorm over the last dimension. in (M, N) f32 (or bf16), out (M, N) f32 or bf16;
// rows of any stride, the last dimension contiguous; out may be in. Statistics in f32 in an order
// that only N decides.
#pragma once

#include "ops/exec.hpp"
#include "tensor/tensor.hpp"

#include <foveal/error.hpp>

#include <optional>

namespace foveal::ops {

enum class NormKind : std::uint8_t { kLayerNorm, kRmsNorm };

struct NormWeights {
  NormKind kind = NormKind::kLayerNorm;
  float eps = 1e-6F;
  Tensor weight{};  // (N) f32; numel 0: none
  Tensor bias{};    // (N) f32; numel 0: none
};

// in of rank 2 (M, N), or rank 3 (M, H, N) to normalise each head apart (q/k norm).
Status norm(const Exec& exec, const ConstTensorView& in, const NormWeights& weights,
            const TensorView& out);

}  // namespace foveal::ops
