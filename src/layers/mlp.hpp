// The feed-forward layer, plain (fc1, activation, fc2) or gated (act(gate) * up, fc2).
#pragma once

#include "layers/pass.hpp"
#include "ops/linear.hpp"

#include <optional>

namespace foveal::layers {

struct MlpWeights {
  ops::LinearWeights fc1;                // (F, D); the gate where there is an `up`
  std::optional<ops::LinearWeights> up;  // (F, D)
  ops::LinearWeights fc2;                // (N, F)
  ops::Activation activation = ops::Activation::kGelu;
};

struct MlpArgs {
  ConstTensorView in;                         // (M, D) in pass.compute
  TensorView out;                             // (M, N) f32
  const float* scale = nullptr;               // (N) layer scale, may be null
  std::optional<ConstTensorView> residual{};  // (M, N) f32; may be `out` itself
};

// out = residual + scale * fc2(act(fc1(in)) [* up(in)])
Status mlp(const Pass& pass, const MlpWeights& weights, const MlpArgs& args);

}  // namespace foveal::layers
