// Linear layers with fused epilogues over packed weights. in (M, K), out (M, N), rows of any
// stride, last dimension contiguous. A row's bits do not depend on M, on the other rows or on the
// number of threads: K is summed in one order that only (K, dtype, instruction set) decides.
#pragma once

#include "ops/activation.hpp"
#include "ops/exec.hpp"
#include "tensor/tensor.hpp"

#include <foveal/error.hpp>
#include <foveal/tensor_view.hpp>

#include <optional>

namespace foveal::ops {

namespace cpu {
struct KernelTable;
}

// Weights (N, K) and bias (N), packed once at load for the kernels of one Exec; move-only.
class LinearWeights {
 public:
  LinearWeights() = default;
  // weight (N, K) contiguous, f32, f16 or bf16, may be an unaligned mapping; bias (N) of any of
  // these. compute: kF32 or kBF16, the dtype that inputs and weights have in the products; sums are
  // f32. DtypeUnsupported, OutOfMemory.
  static Result<LinearWeights> pack(const Exec& exec, const ConstTensorView& weight,
                                    const std::optional<ConstTensorView>& bias, DType compute);
  std::int64_t n() const { return n_; }
  std::int64_t k() const { return k_; }
  DType compute() const { return compute_; }
  const Tensor& packed() const { return packed_; }
  const float* bias() const {
    return has_bias_ ? bias_.data<float>() : nullptr;
  }  // (N) f32, or null
  // The CPU kernels that the packed order belongs to; linear() runs these. Null before pack().
  const cpu::KernelTable* kernels() const { return kernels_; }

 private:
  Tensor packed_;  // (panels, K, panel columns), the order within a panel is the kernels' own
  Tensor bias_;
  const cpu::KernelTable* kernels_ = nullptr;
  bool has_bias_ = false;
  std::int64_t n_ = 0;
  std::int64_t k_ = 0;
  DType compute_ = DType::kF32;
};

// out = residual + scale * (activation(in W^T + b) [* (in G^T + g)])
struct LinearArgs {
  ConstTensorView in;                      // (M, K) in weights->compute()
  const LinearWeights* weights = nullptr;  // never null
  TensorView out;                          // (M, N) f32 or bf16
  Activation activation = Activation::kNone;
  // Gated MLP: `weights` is the gate, which the activation applies to, `up` (N, K) the factor. May
  // be null.
  const LinearWeights* up = nullptr;
  const float* scale = nullptr;               // (N) layer scale, may be null
  std::optional<ConstTensorView> residual{};  // (M, N) f32; may be `out` itself
};

// ShapeMismatch, DtypeMismatch, OutOfMemory.
Status linear(const Exec& exec, const LinearArgs& args);

}  // namespace foveal::ops
