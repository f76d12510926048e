// 16-bit conversions over all bit patterns, and rounding to nearest even against an independent
// rule.
#include "base/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace foveal {
namespace {

TEST(Half, EveryBf16PatternSurvives) {
  for (std::uint32_t b = 0; b < 65536; ++b) {
    const auto bits = static_cast<std::uint16_t>(b);
    const float f = bf16_to_f32(bits);
    if (std::isnan(f)) {
      EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(f))));
    } else {
      ASSERT_EQ(f32_to_bf16(f), bits);
    }
  }
}

TEST(Half, EveryF16PatternSurvives) {
  for (std::uint32_t b = 0; b < 65536; ++b) {
    const auto bits = static_cast<std::uint16_t>(b);
    const float f = f16_to_f32(bits);
    if (std::isnan(f)) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(f))));
    } else {
      ASSERT_EQ(f32_to_f16(f), bits) << "bits " << b << " value " << f;
    }
  }
}

// Nearest of the 16-bit neighbours, the even one on a tie, found by search instead of bit tricks.
template <class ToF32>
double nearest(double x, ToF32 to_f32, std::uint32_t max_finite) {
  const double m = std::fabs(x);
  std::uint32_t lo = 0;
  std::uint32_t hi = max_finite;
  while (lo < hi) {
    const std::uint32_t mid = (lo + hi + 1) / 2;
    if (static_cast<double>(to_f32(static_cast<std::uint16_t>(mid))) <= m) {
      lo = mid;
    } else {
      hi = mid - 1;
    }
  }
  const double a = to_f32(static_cast<std::uint16_t>(lo));
  if (lo == max_finite) {
    return std::copysign(a, x);
  }
  const double b = to_f32(static_cast<std::uint16_t>(lo + 1));
  const bool up = m - a > b - m || (m - a == b - m && lo % 2 == 1);
  return std::copysign(up ? b : a, x);
}

TEST(Half, RoundsToNearestEven) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> exponent(-26, 15);
  for (int i = 0; i < 200000; ++i) {
    const float x = std::ldexp(1.0F + static_cast<float>(random() % 8192) / 8192.0F,
                               static_cast<int>(exponent(random))) *
                    (i % 2 == 0 ? 1.0F : -1.0F);
    if (std::fabs(x) < 65504.0F) {
      ASSERT_EQ(static_cast<double>(f16_to_f32(f32_to_f16(x))), nearest(x, f16_to_f32, 0x7BFF))
          << x;
    }
    ASSERT_EQ(static_cast<double>(bf16_to_f32(f32_to_bf16(x))), nearest(x, bf16_to_f32, 0x7F7F))
        << x;
  }
  EXPECT_EQ(f32_to_f16(65519.9F), 0x7BFF);
  EXPECT_EQ(f32_to_f16(65520.0F), 0x7C00);
  EXPECT_EQ(f32_to_f16(0x1p-25F), 0x0000);  // a tie between 0 and the smallest subnormal: even
  EXPECT_EQ(f32_to_f16(0x1.8p-25F), 0x0001);
}

}  // namespace
}  // namespace foveal
