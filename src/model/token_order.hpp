// The order of a picture's tokens: blocks of merge_size x merge_size patches, raster inside and
// among them.
#pragma once

#include "ops/interpolate.hpp"

#include <cstdint>

namespace foveal {

// Calls f(index, y, x) for every patch of the grid; its extents are multiples of merge.
template <class F>
void for_each_cell(ops::GridSize grid, std::int64_t merge, F&& f) {
  std::int64_t index = 0;
  for (std::int64_t by = 0; by < grid.h; by += merge) {
    for (std::int64_t bx = 0; bx < grid.w; bx += merge) {
      for (std::int64_t y = by; y < by + merge; ++y) {
        for (std::int64_t x = bx; x < bx + merge; ++x) {
          f(index++, y, x);
        }
      }
    }
  }
}

}  // namespace foveal
