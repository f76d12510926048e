// Scratch memory: aligned, stable while taken, reused after release, bounded.
#include "tensor/arena.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace foveal {
namespace {

TEST(Arena, HandsOutDisjointAlignedViews) {
  Arena arena;
  std::vector<TensorView> views;
  for (int i = 0; i < 200; ++i) {
    const TensorView v = arena.take(DType::kF32, {i + 1, 257}, "test").value();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(v.data) % 64, 0U);
    std::memset(v.data, i, static_cast<std::size_t>(v.numel()) * 4);
    views.push_back(v);
  }
  for (int i = 0; i < 200; ++i) {  // growing did not move or overlap the earlier ones
    const auto* bytes = views[static_cast<std::size_t>(i)].as<unsigned char>();
    const std::int64_t n = views[static_cast<std::size_t>(i)].numel() * 4;
    EXPECT_EQ(bytes[0], i);
    EXPECT_EQ(bytes[n - 1], i);
  }
}

TEST(Arena, ReusesWhatWasReleased) {
  Arena arena;
  const TensorView a = arena.take(DType::kU8, {100}, "test").value();
  const Arena::Mark mark = arena.mark();
  const TensorView b = arena.take(DType::kU8, {100}, "test").value();
  arena.release(mark);
  const TensorView c = arena.take(DType::kU8, {100}, "test").value();
  EXPECT_EQ(b.data, c.data);
  EXPECT_NE(a.data, c.data);
}

TEST(Arena, JoinsItsChunksOnReset) {
  Arena arena;
  for (int round = 0; round < 3; ++round) {
    arena.reset();
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(arena.take(DType::kU8, {3 << 20}, "test"));
    }
  }
  EXPECT_EQ(arena.peak().v, 5 * (3 << 20));
}

TEST(Arena, RefusesAbsurdSizes) {
  Arena arena;
  EXPECT_EQ(arena.take(DType::kF32, {std::int64_t{1} << 40, 1 << 30}, "test").error().code(),
            ErrorCode::kOutOfMemory);
  EXPECT_EQ(arena.take(DType::kF32, {-1}, "test").error().code(), ErrorCode::kOutOfMemory);
  EXPECT_TRUE(arena.take(DType::kF32, {0, 5}, "test"));
}

}  // namespace
}  // namespace foveal
