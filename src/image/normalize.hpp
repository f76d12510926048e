// uint8 to float32: rescaling and normalising, bit for bit as transformers' backends. A pixel has
// 256 values, so both become one table a channel, which patchify reads.
#pragma once

#include <foveal/image.hpp>

#include <array>
#include <cstdint>
#include <optional>

namespace foveal {

struct MeanStd {
  std::array<double, 3> mean{};  // r, g, b, of values in 0..1
  std::array<double, 3> std{};   // not 0: whoever reads a config checks that
};

// An absent part does not apply (do_rescale, do_normalize).
struct Normalization {
  std::optional<double> rescale_factor = 1.0 / 255.0;  // not 0
  std::optional<MeanStd> mean_std;
};

// (channel, value of the pixel) -> float
using NormalizationTable = std::array<std::array<float, 256>, 3>;

// torchvision: (x - mean / factor) / (std / factor) in float32, fused where both parts apply.
// Pillow: x * factor in double, rounded to float32; then (x - mean) / std in float32.
NormalizationTable make_normalization_table(const Normalization& normalization,
                                            ImageBackend backend);

}  // namespace foveal
