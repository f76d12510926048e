// Grids of patches to sequences: one a frame, and the windows of Qwen2.5-VL's rule with their
// permutation.
#include <foveal/attention/metadata.hpp>

#include <algorithm>
#include <limits>

namespace foveal {
namespace {

constexpr std::int64_t kMaxTokens = PackedSeqs::kMaxTokens;

// Windows of one frame of gh x gw merged cells, whose first cell has the number `base`.
struct WindowWalk {
  std::int64_t cells;  // side of a window, merged cells
  std::int64_t unit;   // tokens a merged cell
  std::vector<std::int64_t>& lengths;
  std::vector<std::int32_t>& permutation;

  void frame(std::int64_t gh, std::int64_t gw, std::int64_t base) {
    for (std::int64_t y0 = 0; y0 < gh; y0 += cells) {
      for (std::int64_t x0 = 0; x0 < gw; x0 += cells) {
        const std::int64_t y1 = std::min(y0 + cells, gh);
        const std::int64_t x1 = std::min(x0 + cells, gw);
        for (std::int64_t y = y0; y < y1; ++y) {
          for (std::int64_t x = x0; x < x1; ++x) {
            permutation.push_back(static_cast<std::int32_t>(base + y * gw + x));
          }
        }
        lengths.push_back((y1 - y0) * (x1 - x0) * unit);
      }
    }
  }
};

}  // namespace

Result<GridSeqs> seqs_from_grid(std::span<const GridThw> grids, const GridOptions& options) {
  const std::int64_t merge = options.merge_size;
  if (merge < 1) {
    return Error(
        ErrorCode::kWindowInvalid,
        {{"what", "merge_size"}, {"value", merge}, {"expected", "merge_size is 1 or more"}});
  }
  if (options.window_cells && *options.window_cells < 1) {
    return Error(
        ErrorCode::kWindowInvalid,
        {{"what", "window_cells"},
         {"value", *options.window_cells},
         {"expected",
          "a window spans 1 merged cell or more: window_size >= merge_size * patch_size"}});
  }
  std::vector<std::int64_t> frames;
  std::vector<std::int64_t> windows;
  GridSeqs out;
  std::int64_t total = 0;
  for (std::size_t i = 0; i < grids.size(); ++i) {
    const GridThw& g = grids[i];
    if (g.t < 1 || g.h < 1 || g.w < 1 || g.h % merge != 0 || g.w % merge != 0) {
      return Error(ErrorCode::kGridInvalid,
                   {{"index", i}, {"t", g.t}, {"h", g.h}, {"w", g.w}, {"merge_size", merge}});
    }
    // Divisions instead of products: extents of outside data may be near 2^63.
    if (g.h > kMaxTokens / g.w || g.t > (kMaxTokens - total) / (g.h * g.w)) {
      return Error(ErrorCode::kTooManyTokens,
                   {{"total", std::numeric_limits<std::int64_t>::max()}, {"limit", kMaxTokens}});
    }
    const std::int64_t unit = merge * merge;
    for (std::int64_t t = 0; t < g.t; ++t) {
      frames.push_back(g.h * g.w);
      if (options.window_cells) {
        WindowWalk walk{*options.window_cells, unit, windows, out.permutation};
        walk.frame(g.h / merge, g.w / merge, total / unit);
      }
      total += g.h * g.w;
    }
  }
  FOVEAL_TRY(out.full, PackedSeqs::from_lengths(std::span<const std::int64_t>(frames)));
  if (options.window_cells) {
    FOVEAL_TRY(out.windows, PackedSeqs::from_lengths(std::span<const std::int64_t>(windows)));
  } else {
    out.windows = out.full;
  }
  return out;
}

}  // namespace foveal
