// Antialiased bilinear resize of float32 pictures, for processors that rescale before they resize
// (DINOv3). As torchvision: coefficients and sums in float32, width first, no rounding between the
// passes; within 2.5e-7 of it for values of 0 to 1, whose vectorised sums differ in the last bit.
#pragma once

#include <foveal/error.hpp>
#include <foveal/image.hpp>

#include <span>
#include <vector>

namespace foveal {

// in: (from.height, from.width, 3); the result: (to.height, to.width, 3).
// Extents are at least 1. Errors: OutOfMemory.
Result<std::vector<float>> resize_f32(std::span<const float> in, ImageSize from, ImageSize to);

}  // namespace foveal
