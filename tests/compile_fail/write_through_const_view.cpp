// Writing to what a ConstTensorView shows.
#include <foveal/tensor_view.hpp>

#if defined(MISUSE)
void use(const foveal::ConstTensorView& view) {
  view.as<float>()[0] = 1;
}
#else
void use(const foveal::TensorView& view) {
  view.as<float>()[0] = 1;
}
#endif
