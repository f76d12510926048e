#include "layers/vision_attention.hpp"

namespace foveal::layers {
namespace {

// Third `which` (0 q, 1 k, 2 v) of a fused (T, 3, H, D) buffer, as (T, H, D) without a copy.
TensorView part(const TensorView& fused, std::int64_t which, std::int64_t heads,
                std::int64_t head_dim) {
  const std::int64_t width = heads * head_dim;
  auto* base = fused.as<std::byte>() + which * width * dtype_size(fused.dtype).v;
  Strides strides{};
  strides[0] = Elements(3 * width);
  strides[1] = Elements(head_dim);
  strides[2] = Elements(1);
  return {base, fused.dtype, {fused.shape[0], heads, head_dim}, strides, fused.device};
}

// The same rows as (T, H * D), for a norm over the whole width.
TensorView flat(const TensorView& x) {
  Strides strides{};
  strides[0] = x.strides[0];
  strides[1] = Elements(1);
  return {x.data, x.dtype, {x.shape[0], x.shape[1] * x.shape[2]}, strides, x.device};
}

Status norm_heads(const Pass& pass, const std::optional<ops::NormWeights>& weights,
                  QkNormScope scope, const TensorView& x) {
  if (!weights) {
    return {};
  }
  const TensorView view = scope == QkNormScope::kPerHead ? x : flat(x);
  return ops::norm(pass.exec, view, *weights, view);
}

}  // namespace

Status run_attention(const Pass& pass, const AttentionPlan& plan, const QkvView& in,
                     const TensorView& out) {
  FOVEAL_TRY(const TensorView scratch,
             pass.arena.take(DType::kU8, {plan.workspace_size().v}, "attention workspace"));
  return plan.run(in, {.out = out},
                  {.data = scratch.as<std::byte>(), .size = plan.workspace_size()},
                  {.pool = pass.exec.pool});
}

Status vision_attention(const Pass& pass, const VisionAttentionWeights& weights,
                        const AttentionArgs& args) {
  const std::int64_t rows = args.in.shape[0];
  const std::int64_t width = weights.num_heads * weights.head_dim;
  const Arena::Mark mark = pass.arena.mark();
  FOVEAL_TRY(const TensorView fused, pass.arena.take(pass.compute, {rows, 3 * width}, "qkv"));
  FOVEAL_TRY_STATUS(ops::linear(pass.exec, {.in = args.in, .weights = &weights.qkv, .out = fused}));
  const TensorView q = part(fused, 0, weights.num_heads, weights.head_dim);
  const TensorView k = part(fused, 1, weights.num_heads, weights.head_dim);
  const TensorView v = part(fused, 2, weights.num_heads, weights.head_dim);
  FOVEAL_TRY_STATUS(norm_heads(pass, weights.q_norm, weights.qk_norm_scope, q));
  FOVEAL_TRY_STATUS(norm_heads(pass, weights.k_norm, weights.qk_norm_scope, k));
  if (args.rope) {
    FOVEAL_TRY_STATUS(ops::rope(pass.exec, q, args.rope->cos, args.rope->sin, args.rope->style));
    FOVEAL_TRY_STATUS(ops::rope(pass.exec, k, args.rope->cos, args.rope->sin, args.rope->style));
  }
  FOVEAL_TRY(const TensorView context,
             pass.arena.take(pass.compute, {rows, weights.num_heads, weights.head_dim},
                             "attention output"));
  FOVEAL_TRY_STATUS(run_attention(pass, *args.plan, {.q = q, .k = k, .v = v}, context));
  FOVEAL_TRY_STATUS(ops::linear(
      pass.exec, {.in = ConstTensorView(context.data, pass.compute, {rows, width}, context.device),
                  .weights = &weights.proj,
                  .out = args.hidden,
                  .scale = args.scale,
                  .residual = args.hidden}));
  pass.arena.release(mark);
  return {};
}

}  // namespace foveal::layers
