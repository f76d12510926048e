// Antialiased resize of (H, W, 3) uint8 with the bytes of transformers' backends. Both backends
// resample one axis at a time with the same double-precision weights and round to uint8 between the
// passes; they differ in the precision of the fixed-point weights and in the order of the passes:
//   torchvision  as many bits (at most 22) as keep the largest weight of the pass below 2^15; width
//   first Pillow 13    22 bits; height first where the height shrinks by more than twice what the
//   width does
// A pass whose length does not change is left out.
#pragma once

#include "image/resize_kernels.hpp"

#include <foveal/image.hpp>

#include <cstdint>
#include <span>
#include <vector>

namespace foveal::resize {

// The longest side to resize to, the part outside of a window included: its weights are all looked
// at.
inline constexpr int kMaxSide = 1 << 23;

// A half-open range of pixels along one axis.
struct Range {
  int begin = 0;
  int end = 0;
  int size() const { return end - begin; }
};

// Weights of one axis in fixed point, for a range of its outputs.
class Axis {
 public:
  // in, out: extents, at least 1; outputs within [0, out).
  Axis(int in, int out, Range outputs, ResizeFilter filter, ImageBackend backend);

  Range sources() const { return sources_; }  // what the outputs read
  // First indices count from sources().begin.
  AxisView view() const;

 private:
  Range sources_;
  int outputs_ = 0;
  int stride_ = 0;
  int bits_ = 0;
  std::vector<std::int32_t> first_;
  std::vector<std::int32_t> count_;
  std::vector<std::int32_t> weights_;
  std::vector<std::int16_t> low_;
  std::vector<std::int16_t> high_;
};

// What this CPU runs fastest.
const KernelTable& best_kernels();
// All that this CPU runs, the plain ones first.
std::vector<const KernelTable*> runnable_kernels();

// resize_image with chosen kernels: all give the same bytes.
Result<Image> resize_image(const KernelTable& kernels, const Image& image,
                           const ResizeOptions& options);

}  // namespace foveal::resize
