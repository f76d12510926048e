// Grids and windows against Qwen2.5-VL's rule written out the long way.
#include <foveal/attention/metadata.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>

namespace foveal {
namespace {

// The rule as transformers states it: pad each frame's cells to whole windows, walk the windows,
// drop padding, drop windows that are empty.
struct Plain {
  std::vector<std::int32_t> order;
  std::vector<std::int32_t> lengths;
};

Plain plain_windows(const std::vector<GridThw>& grids, std::int64_t merge, std::int64_t cells) {
  Plain out;
  std::int64_t base = 0;
  for (const GridThw& g : grids) {
    const std::int64_t gh = g.h / merge;
    const std::int64_t gw = g.w / merge;
    const std::int64_t ph = gh + cells - gh % cells;  // a whole extra window where it divides
    const std::int64_t pw = gw + cells - gw % cells;
    for (std::int64_t t = 0; t < g.t; ++t) {
      for (std::int64_t wy = 0; wy < ph / cells; ++wy) {
        for (std::int64_t wx = 0; wx < pw / cells; ++wx) {
          std::int32_t count = 0;
          for (std::int64_t y = wy * cells; y < (wy + 1) * cells; ++y) {
            for (std::int64_t x = wx * cells; x < (wx + 1) * cells; ++x) {
              if (y < gh && x < gw) {
                out.order.push_back(static_cast<std::int32_t>(base + t * gh * gw + y * gw + x));
                ++count;
              }
            }
          }
          if (count > 0) {
            out.lengths.push_back(count * static_cast<std::int32_t>(merge * merge));
          }
        }
      }
    }
    base += g.t * gh * gw;
  }
  return out;
}

TEST(Grid, WindowsFollowTheLongWay) {
  std::mt19937 random(11);
  for (int round = 0; round < 500; ++round) {
    const auto merge = static_cast<std::int64_t>(1 + random() % 3);
    const auto cells = static_cast<std::int64_t>(1 + random() % 5);
    std::vector<GridThw> grids(random() % 4);
    for (GridThw& g : grids) {
      g = {static_cast<std::int64_t>(1 + random() % 3),
           static_cast<std::int64_t>(1 + random() % 12) * merge,
           static_cast<std::int64_t>(1 + random() % 12) * merge};
    }
    const GridSeqs got =
        seqs_from_grid(grids, {.merge_size = merge, .window_cells = cells}).value();
    const Plain want = plain_windows(grids, merge, cells);
    EXPECT_EQ(got.permutation, want.order);
    EXPECT_TRUE(std::equal(got.windows.seqlens().begin(), got.windows.seqlens().end(),
                           want.lengths.begin(), want.lengths.end()));
    EXPECT_EQ(got.windows.total_tokens(), got.full.total_tokens());
    std::vector<std::int32_t> sorted = got.permutation;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      ASSERT_EQ(sorted[i], static_cast<std::int32_t>(i));
    }
  }
}

TEST(Grid, WithoutWindowsEveryFrameIsASequence) {
  const std::vector<GridThw> grids{{2, 4, 6}, {1, 2, 2}};
  const GridSeqs s = seqs_from_grid(grids, {.merge_size = 2, .window_cells = std::nullopt}).value();
  ASSERT_EQ(s.full.size(), 3);
  EXPECT_EQ(s.full[0].length.v, 24);
  EXPECT_EQ(s.full[2].length.v, 4);
  EXPECT_TRUE(s.permutation.empty());
  EXPECT_TRUE(s.windows == s.full);
}

TEST(Grid, NamesEveryBreach) {
  const auto code = [](GridThw g, GridOptions o) {
    const auto r = seqs_from_grid(std::vector<GridThw>{g}, o);
    return r ? ErrorCode::kInternal : r.error().code();
  };
  const GridOptions plain{.merge_size = 2, .window_cells = std::nullopt};
  EXPECT_EQ(code({1, 3, 4}, plain), ErrorCode::kGridInvalid);
  EXPECT_EQ(code({0, 4, 4}, plain), ErrorCode::kGridInvalid);
  EXPECT_EQ(code({1, -2, 4}, plain), ErrorCode::kGridInvalid);
  EXPECT_EQ(code({1, std::int64_t{1} << 62, std::int64_t{1} << 62}, plain),
            ErrorCode::kTooManyTokens);
  EXPECT_EQ(code({std::int64_t{1} << 60, 2, 2}, plain), ErrorCode::kTooManyTokens);
  EXPECT_EQ(code({1, 4, 4}, {.merge_size = 0, .window_cells = std::nullopt}),
            ErrorCode::kWindowInvalid);
  EXPECT_EQ(code({1, 4, 4}, {.merge_size = 2, .window_cells = 0}), ErrorCode::kWindowInvalid);
}

}  // namespace
}  // namespace foveal
