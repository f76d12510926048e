// The exact float32 steps, see normalize.hpp. No step may be fused or reordered
// (-ffp-contract=off).
#include "image/normalize.hpp"

namespace foveal {
namespace {

float rescaled(int pixel, const Normalization& n, ImageBackend backend) {
  if (!n.rescale_factor) {
    return static_cast<float>(pixel);
  }
  return backend == ImageBackend::kPillow
             ? static_cast<float>(pixel * *n.rescale_factor)
             : static_cast<float>(pixel) * static_cast<float>(*n.rescale_factor);
}

}  // namespace

NormalizationTable make_normalization_table(const Normalization& normalization,
                                            ImageBackend backend) {
  const bool fused = backend == ImageBackend::kTorchvision && normalization.rescale_factor &&
                     normalization.mean_std;
  NormalizationTable table;
  for (std::size_t c = 0; c < table.size(); ++c) {
    for (int pixel = 0; pixel < 256; ++pixel) {
      float& out = table[c][static_cast<std::size_t>(pixel)];
      out = fused ? static_cast<float>(pixel) : rescaled(pixel, normalization, backend);
      if (!normalization.mean_std) {
        continue;
      }
      auto mean = static_cast<float>(normalization.mean_std->mean[c]);
      auto std = static_cast<float>(normalization.mean_std->std[c]);
      if (fused) {
        const auto inverse = static_cast<float>(1.0 / *normalization.rescale_factor);
        mean *= inverse;
        std *= inverse;
      }
      out = (out - mean) / std;
    }
  }
  return table;
}

}  // namespace foveal
