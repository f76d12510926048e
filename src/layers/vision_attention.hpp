// The vision attention layer: fused qkv projection, optional q/k norm and rotary, packed attention
// by the plan, output projection with layer scale and residual.
#pragma once

#include "layers/pass.hpp"
#include "ops/linear.hpp"
#include "ops/norm.hpp"
#include "ops/rope.hpp"

#include <foveal/attention/plan.hpp>

#include <optional>

namespace foveal::layers {

enum class QkNormScope : std::uint8_t {
  kPerHead,
  kWholeWidth
};  // weight (head_dim) or (num_heads * head_dim)

struct VisionAttentionWeights {
  ops::LinearWeights qkv;   // (3 * num_heads * head_dim, D), rows q then k then v
  ops::LinearWeights proj;  // (D, num_heads * head_dim)
  std::optional<ops::NormWeights> q_norm;
  std::optional<ops::NormWeights> k_norm;
  QkNormScope qk_norm_scope = QkNormScope::kPerHead;
  std::int64_t num_heads = 0;
  std::int64_t head_dim = 0;
};

struct RopeTable {
  const float* cos = nullptr;  // (T, head_dim)
  const float* sin = nullptr;  // (T, head_dim)
  ops::RopeStyle style = ops::RopeStyle::kRotateHalf;
};

struct AttentionArgs {
  ConstTensorView in;                   // (T, D) in pass.compute, normed
  const AttentionPlan* plan = nullptr;  // never null; its q and k sequences cover T rows
  std::optional<RopeTable> rope{};
  const float* scale = nullptr;  // (D) layer scale, may be null
  TensorView hidden;             // (T, D) f32, added to in place
};

// hidden += scale * proj(attention(qkv(in)))
Status vision_attention(const Pass& pass, const VisionAttentionWeights& weights,
                        const AttentionArgs& args);

// Runs a plan with workspace from the arena.
Status run_attention(const Pass& pass, const AttentionPlan& plan, const QkvView& in,
                     const TensorView& out);

}  // namespace foveal::layers
