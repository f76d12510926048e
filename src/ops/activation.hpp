// The activations that a linear layer's epilogue applies. Apart from linear.hpp so that the units
// of one instruction set can include it without the containers of the tensor module.
#pragma once

#include <cstdint>

namespace foveal::ops {

enum class Activation : std::uint8_t {
  kNone,
  kGelu /*erf*/,
  kGeluTanh,
  kQuickGelu,
  kSilu,
  kTanh,
  kRelu
};

}  // namespace foveal::ops
