#include "layers/block.hpp"

namespace foveal::layers {

Result<TensorView> normed(const Pass& pass, const ops::NormWeights& weights,
                          const ConstTensorView& in) {
  FOVEAL_TRY(const TensorView out, pass.arena.take(pass.compute, in.shape, "norm"));
  FOVEAL_TRY_STATUS(ops::norm(pass.exec, in, weights, out));
  return out;
}

Status block(const Pass& pass, const BlockWeights& weights, const BlockArgs& args) {
  const Arena::Mark mark = pass.arena.mark();
  {
    FOVEAL_TRY(const TensorView in, normed(pass, weights.norm1, args.hidden));
    FOVEAL_TRY_STATUS(
        vision_attention(pass, weights.attention,
                         {.in = in,
                          .plan = args.plan,
                          .rope = args.rope,
                          .scale = weights.has_scales ? weights.scale1.data<float>() : nullptr,
                          .hidden = args.hidden}));
    pass.arena.release(mark);
  }
  FOVEAL_TRY(const TensorView in, normed(pass, weights.norm2, args.hidden));
  FOVEAL_TRY_STATUS(mlp(pass, weights.mlp,
                        {.in = in,
                         .out = args.hidden,
                         .scale = weights.has_scales ? weights.scale2.data<float>() : nullptr,
                         .residual = args.hidden}));
  pass.arena.release(mark);
  return {};
}

}  // namespace foveal::layers
