#include "layers/mlp.hpp"

namespace foveal::layers {

Status mlp(const Pass& pass, const MlpWeights& weights, const MlpArgs& args) {
  const Arena::Mark mark = pass.arena.mark();
  FOVEAL_TRY(const TensorView inner,
             pass.arena.take(pass.compute, {args.in.shape[0], weights.fc1.n()}, "mlp"));
  FOVEAL_TRY_STATUS(ops::linear(pass.exec, {.in = args.in,
                                            .weights = &weights.fc1,
                                            .out = inner,
                                            .activation = weights.activation,
                                            .up = weights.up ? &*weights.up : nullptr}));
  FOVEAL_TRY_STATUS(ops::linear(pass.exec, {.in = inner,
                                            .weights = &weights.fc2,
                                            .out = args.out,
                                            .scale = args.scale,
                                            .residual = args.residual}));
  pass.arena.release(mark);
  return {};
}

}  // namespace foveal::layers
