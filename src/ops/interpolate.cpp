// Grid resampling, separable: for each axis a list of source lines and weights per target line, in
// float32 with the very formulas of the originals, so that the same lines and (to rounding) the
// same weights come out.
//   no antialias:  source position (i + 0.5) * (in / out) - 0.5; cubic taps beyond the edge repeat
//   the edge antialias:     support widened by in / out when shrinking, taps cut at the edge,
//   weights normalised align corners: positions linspace(0, in - 1, out)
#include "ops/interpolate.hpp"

#include "ops/checks.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace foveal::ops {
namespace {

struct Tap {
  std::int64_t line = 0;  // of the source, in range
  float weight = 0;
};
using Taps = std::vector<std::vector<Tap>>;  // one list a target line

struct Axis {
  std::int64_t in = 0;
  std::int64_t out = 0;
};

float ratio(Axis axis) {
  return static_cast<float>(axis.in) / static_cast<float>(axis.out);
}

// Products here are rounded together with their sum (FMA), as in torch's own builds: a second
// rounding is small but shows in every value, 3e-6 against 3e-7 on the golden vectors.
float half_pixel(Axis axis, std::int64_t i) {
  return std::fma(ratio(axis), static_cast<float>(i) + 0.5F, -0.5F);
}

// Keys' cubic kernel, the two polynomials of |x| below 1 and from 1 to 2.
float cubic_near(float x, float a) {
  return std::fma(std::fma(a + 2.0F, x, -(a + 3.0F)) * x, x, 1.0F);
}
float cubic_far(float x, float a) {
  return std::fma(std::fma(std::fma(a, x, -5.0F * a), x, 8.0F * a), x, -4.0F * a);
}

Taps cubic_taps(Axis axis) {
  constexpr float kA = -0.75F;
  Taps out(static_cast<std::size_t>(axis.out));
  for (std::int64_t i = 0; i < axis.out; ++i) {
    const float at = half_pixel(axis, i);
    const auto line = static_cast<std::int64_t>(std::floor(at));
    const float t = std::clamp(at - static_cast<float>(line), 0.0F, 1.0F);
    const float weights[4] = {cubic_far(t + 1.0F, kA), cubic_near(t, kA), cubic_near(1.0F - t, kA),
                              cubic_far(2.0F - t, kA)};
    for (std::int64_t j = 0; j < 4; ++j) {
      out[static_cast<std::size_t>(i)].push_back(
          {std::clamp<std::int64_t>(line - 1 + j, 0, axis.in - 1), weights[j]});
    }
  }
  return out;
}

std::vector<Tap> two_taps(float at, std::int64_t in) {
  const auto line = std::min(static_cast<std::int64_t>(at), in - 1);
  const float t = at - static_cast<float>(line);
  return {{line, 1.0F - t}, {std::min(line + 1, in - 1), t}};
}

Taps linear_taps(Axis axis) {
  Taps out(static_cast<std::size_t>(axis.out));
  for (std::int64_t i = 0; i < axis.out; ++i) {
    const float at = half_pixel(axis, i);
    out[static_cast<std::size_t>(i)] = two_taps(std::max(at, 0.0F), axis.in);
  }
  return out;
}

Taps corner_taps(Axis axis) {
  Taps out(static_cast<std::size_t>(axis.out));
  const auto end = static_cast<float>(axis.in - 1);
  const auto steps = static_cast<float>(std::max<std::int64_t>(1, axis.out - 1));
  for (std::int64_t i = 0; i < axis.out; ++i) {
    // Multiplied first: positions that are whole numbers come out whole.
    out[static_cast<std::size_t>(i)] = two_taps(static_cast<float>(i) * end / steps, axis.in);
  }
  return out;
}

struct Kernel {
  float radius;
  float (*value)(float);  // of the distance, 0 beyond the radius
};

float triangle(float x) {
  return std::max(0.0F, 1.0F - std::abs(x));
}
float keys(float x) {
  constexpr float kA = -0.5F;
  x = std::abs(x);
  return x < 1.0F ? cubic_near(x, kA) : x < 2.0F ? cubic_far(x, kA) : 0.0F;
}

Taps antialias_taps(Axis axis, Kernel kernel) {
  const float scale = ratio(axis);
  const float support = scale >= 1.0F ? kernel.radius * scale : kernel.radius;
  const float squeeze = scale >= 1.0F ? 1.0F / scale : 1.0F;
  Taps out(static_cast<std::size_t>(axis.out));
  for (std::int64_t i = 0; i < axis.out; ++i) {
    std::vector<Tap>& taps = out[static_cast<std::size_t>(i)];
    const float centre = scale * (static_cast<float>(i) + 0.5F);
    const auto first =
        std::max<std::int64_t>(static_cast<std::int64_t>(centre - support + 0.5F), 0);
    const auto last = std::min(static_cast<std::int64_t>(centre + support + 0.5F), axis.in);
    float total = 0.0F;
    for (std::int64_t line = first; line < last; ++line) {
      const float weight = kernel.value((static_cast<float>(line) - centre + 0.5F) * squeeze);
      taps.push_back({line, weight});
      total += weight;
    }
    for (Tap& tap : taps) {
      tap.weight = total != 0.0F ? tap.weight / total : tap.weight;
    }
  }
  return out;
}

Taps taps_of(GridFilter filter, Axis axis) {
  switch (filter) {
    case GridFilter::kBicubic:
      return cubic_taps(axis);
    case GridFilter::kBicubicAntialias:
      return antialias_taps(axis, {.radius = 2.0F, .value = keys});
    case GridFilter::kBilinear:
      return linear_taps(axis);
    case GridFilter::kBilinearAntialias:
      return antialias_taps(axis, {.radius = 1.0F, .value = triangle});
    case GridFilter::kBilinearAlignCorners:
      return corner_taps(axis);
  }
  return {};
}

// to (n) = weighted sum of rows (n) that lie `step` elements apart.
void blend(const float* rows, std::int64_t step, const std::vector<Tap>& taps, float* to,
           std::int64_t n) {
  std::fill(to, to + n, 0.0F);
  for (const Tap& tap : taps) {
    const float* row = rows + tap.line * step;
    for (std::int64_t c = 0; c < n; ++c) {
      to[c] += row[c] * tap.weight;
    }
  }
}

}  // namespace

Result<Tensor> interpolate_grid(const ConstTensorView& table, GridSize from, GridSize to,
                                GridFilter filter) {
  const bool positive = from.h > 0 && from.w > 0 && to.h > 0 && to.w > 0;
  if (!positive || table.shape.rank() != 2 || table.shape[0] != from.h * from.w ||
      !table.contiguous()) {
    return shape_mismatch("position table", table.shape,
                          "(" + std::to_string(from.h) + " * " + std::to_string(from.w) +
                              ", N) contiguous, on grids of 1 x 1 or more");
  }
  FOVEAL_TRY_STATUS(check_dtype("position table", {table.dtype, "the result", DType::kF32}));
  const std::int64_t n = table.shape[1];
  FOVEAL_TRY(Tensor out, Tensor::allocate(DType::kF32, {to.h * to.w, n}, "positions"));
  FOVEAL_TRY(Tensor wide, Tensor::allocate(DType::kF32, {from.h, to.w, n}, "positions"));

  const Taps columns = taps_of(filter, {.in = from.w, .out = to.w});
  const Taps rows = taps_of(filter, {.in = from.h, .out = to.h});
  for (std::int64_t y = 0; y < from.h; ++y) {
    for (std::int64_t x = 0; x < to.w; ++x) {
      blend(table.as<float>() + y * from.w * n, n, columns[static_cast<std::size_t>(x)],
            wide.data<float>() + (y * to.w + x) * n, n);
    }
  }
  for (std::int64_t y = 0; y < to.h; ++y) {
    blend(wide.data<float>(), to.w * n, rows[static_cast<std::size_t>(y)],
          out.data<float>() + y * to.w * n, to.w * n);
  }
  return out;
}

}  // namespace foveal::ops
