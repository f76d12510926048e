#include "image/resize_f32.hpp"

#include "base/check.hpp"
#include "base/guarded.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace foveal {
namespace {

// Weights of one output position over source positions [first, first + weights.size()).
struct Taps {
  std::int64_t first = 0;
  std::vector<float> weights;
};

// Triangle filter, widened when shrinking. Each step is rounded to float32, as torchvision's are:
// double coefficients are up to 7e-6 off.
std::vector<Taps> taps_for(int n_in, int n_out) {
  const float scale = static_cast<float>(n_in) / static_cast<float>(n_out);
  const float support = std::max(scale, 1.0F);
  const float inverse = 1.0F / support;
  std::vector<Taps> out(static_cast<std::size_t>(n_out));
  for (int i = 0; i < n_out; ++i) {
    const float center = scale * (static_cast<float>(i) + 0.5F);
    const int lo = std::max(static_cast<int>(center - support + 0.5F), 0);
    const int hi = std::min(static_cast<int>(center + support + 0.5F), n_in);
    Taps& taps = out[static_cast<std::size_t>(i)];
    taps.first = lo;
    float total = 0.0F;
    for (int j = lo; j < hi; ++j) {
      const float x = (static_cast<float>(j) - center + 0.5F) * inverse;
      taps.weights.push_back(std::max(0.0F, 1.0F - std::fabs(x)));
      total += taps.weights.back();
    }
    for (float& w : taps.weights) {
      w /= total;
    }
  }
  return out;
}

// One axis of an array seen as (outer, length, inner): inner values move together.
struct Axis {
  std::int64_t outer;
  int length;
  std::int64_t inner;
};

std::vector<float> resample(const std::vector<float>& in, Axis axis, int n_out) {
  const std::vector<Taps> taps = taps_for(axis.length, n_out);
  std::vector<float> out(static_cast<std::size_t>(axis.outer * n_out * axis.inner));
  float* to = out.data();
  for (std::int64_t o = 0; o < axis.outer; ++o) {
    const float* plane = in.data() + o * axis.length * axis.inner;
    for (const Taps& t : taps) {
      const float* from = plane + t.first * axis.inner;
      for (std::int64_t c = 0; c < axis.inner; ++c) {
        float sum = from[c] * t.weights[0];
        for (std::size_t j = 1; j < t.weights.size(); ++j) {
          sum = std::fma(from[static_cast<std::int64_t>(j) * axis.inner + c], t.weights[j], sum);
        }
        *to++ = sum;
      }
    }
  }
  return out;
}

}  // namespace

Result<std::vector<float>> resize_f32(std::span<const float> in, ImageSize from, ImageSize to) {
  constexpr std::int64_t kChannels = 3;
  FOVEAL_CHECK(from.height > 0 && from.width > 0 && to.height > 0 && to.width > 0);
  FOVEAL_CHECK(in.size() == static_cast<std::size_t>(kChannels * from.height * from.width));
  return guarded("resizing", [&]() -> Result<std::vector<float>> {
    std::vector<float> out(in.begin(), in.end());
    if (from.width != to.width) {
      out = resample(out, {from.height, from.width, kChannels}, to.width);
    }
    if (from.height != to.height) {
      out = resample(out, {1, from.height, kChannels * to.width}, to.height);
    }
    return out;
  });
}

}  // namespace foveal
