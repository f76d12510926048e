// An input where an output is due: it would be written to.
#include <foveal/attention/plan.hpp>

#if defined(MISUSE)
foveal::OutView use(const foveal::ConstTensorView& view) {
  return {.out = view};
}
#else
foveal::OutView use(const foveal::TensorView& view) {
  return {.out = view};
}
#endif
