// (H, W, 3) uint8 -> float32 planes or rows of patches, normalised on the way. Pixels at the right
// and lower edge that do not fill a patch are dropped, as a strided convolution drops them.
#pragma once

#include "image/normalize.hpp"

#include <foveal/error.hpp>
#include <foveal/image.hpp>

#include <cstdint>
#include <span>

namespace foveal {

enum class PatchChannels {
  kFirst,  // a row is (c, t, y, x): most families, Qwen with its doubled frame
  kLast,   // a row is (t, y, x, c): SigLIP2, Gemma 4
};

// No defaults for the sizes: two parts of a program that disagree about them must not compile.
struct PatchLayout {
  int patch_size;           // pixels, at least 1
  int temporal_patch_size;  // times that the frame is repeated in a row, at least 1
  int merge_size;  // patches; rows come in blocks of merge_size x merge_size; 1: raster order
  PatchChannels channels;
};

// Whole patches of a picture, and the rows that they make.
struct PatchGrid {
  int height = 0;             // patches
  int width = 0;              // patches
  std::int64_t row_size = 0;  // floats: 3 * temporal_patch_size * patch_size^2

  std::int64_t rows() const { return std::int64_t{height} * width; }
  std::int64_t floats() const { return rows() * row_size; }
};
PatchGrid patch_grid(ImageSize size, const PatchLayout& layout);

// out: (3, height, width) float32.
Status write_planes(const Image& image, const NormalizationTable& table, std::span<float> out);

// out: (grid.rows(), grid.row_size) float32, all of it is written. merge_size > 1: rows are ordered
// (block row, block column, row in the block, column in the block), and both extents of the grid
// are multiples of it.
Status write_patches(const Image& image, const NormalizationTable& table, const PatchLayout& layout,
                     std::span<float> out);

}  // namespace foveal
