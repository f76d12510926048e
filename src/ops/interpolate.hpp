// Resampling of learned position tables (rows of N values on a grid) to another grid, as torch's
// F.interpolate and its relatives compute it in float32. On the host: results are cached per grid
// by callers.
#pragma once

#include "tensor/tensor.hpp"

#include <foveal/error.hpp>
#include <foveal/tensor_view.hpp>

namespace foveal::ops {

enum class GridFilter : std::uint8_t {
  kBicubic,               // a = -0.75, align_corners=False, no antialias (CLIP, ViT, DINOv2)
  kBicubicAntialias,      // a = -0.5, antialias=True (DINOv2 with registers)
  kBilinear,              // align_corners=False, no antialias
  kBilinearAntialias,     // antialias=True (SigLIP2 NaFlex)
  kBilinearAlignCorners,  // align_corners=True: linspace(0, n-1, m) (Qwen3-VL)
};

struct GridSize {
  std::int64_t h = 0;
  std::int64_t w = 0;
  friend bool operator==(const GridSize&, const GridSize&) = default;
};

// table (from.h * from.w, N) f32 raster order -> (to.h * to.w, N) f32 raster order. ShapeMismatch.
Result<Tensor> interpolate_grid(const ConstTensorView& table, GridSize from, GridSize to,
                                GridFilter filter);

}  // namespace foveal::ops
