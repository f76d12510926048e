// A pre-norm transformer block: hidden += scale1 * attention(norm1(hidden)); hidden += scale2 *
// mlp(norm2(hidden)).
#pragma once

#include "layers/mlp.hpp"
#include "layers/vision_attention.hpp"

namespace foveal::layers {

struct BlockWeights {
  ops::NormWeights norm1;
  VisionAttentionWeights attention;
  Tensor scale1;  // (D) f32, where has_scales
  ops::NormWeights norm2;
  MlpWeights mlp;
  Tensor scale2;  // (D) f32, where has_scales
  bool has_scales = false;
};

struct BlockArgs {
  const AttentionPlan* plan = nullptr;  // never null
  std::optional<RopeTable> rope{};
  TensorView hidden;  // (T, D) f32, in place
};

Status block(const Pass& pass, const BlockWeights& weights, const BlockArgs& args);

// norm(in) in pass.compute, in the arena: what a matrix product reads.
Result<TensorView> normed(const Pass& pass, const ops::NormWeights& weights,
                          const ConstTensorView& in);

}  // namespace foveal::layers
