// Position interpolation against vectors that torch made (tests/golden/ops).
#include "ops/interpolate.hpp"

#include "tensor/safetensors.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace foveal::ops {
namespace {

struct Named {
  const char* name;
  GridFilter filter;
};
constexpr Named kFilters[] = {{"bicubic", GridFilter::kBicubic},
                              {"bicubic_antialias", GridFilter::kBicubicAntialias},
                              {"bilinear", GridFilter::kBilinear},
                              {"bilinear_antialias", GridFilter::kBilinearAntialias},
                              {"align_corners", GridFilter::kBilinearAlignCorners}};

TEST(Interpolate, EqualsTorch) {
  const auto file = SafetensorsFile::open(std::string(FOVEAL_SOURCE_DIR) +
                                          "/tests/golden/ops/interpolate.safetensors");
  ASSERT_TRUE(file) << file.error().describe();
  int cases = 0;
  for (const SafetensorsEntry& entry : file->entries()) {
    if (!entry.name.ends_with(".in")) {
      continue;
    }
    const std::string key = entry.name.substr(0, entry.name.size() - 3);
    GridSize from;
    GridSize to;
    ASSERT_EQ(std::sscanf(key.c_str(), "%ldx%ld.%ldx%ld", &from.h, &from.w, &to.h, &to.w), 4);
    for (const Named& f : kFilters) {
      const SafetensorsEntry* want = file->find(key + "." + f.name);
      ASSERT_NE(want, nullptr);
      const auto got = interpolate_grid(file->view(entry), from, to, f.filter);
      ASSERT_TRUE(got) << got.error().describe();
      ASSERT_EQ(got->shape(), want->shape);
      const ConstTensorView view = file->view(*want);
      std::vector<float> expected(static_cast<std::size_t>(want->shape.numel()));
      convert_to_f32(view.data, view.dtype, expected.data(), want->shape.numel());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        // 16 products in float32 in another order, and source positions that torch may round by
        // FMA.
        ASSERT_NEAR(got->data<float>()[i], expected[i], 1.5e-6F)
            << key << " " << f.name << " value " << i;
      }
      ++cases;
    }
  }
  EXPECT_EQ(cases, 50);
}

TEST(Interpolate, RefusesATableOfAnotherGrid) {
  const std::vector<float> data(12);
  const ConstTensorView table(data.data(), DType::kF32, {6, 2});
  const auto code = [&](GridSize from, GridSize to) {
    return interpolate_grid(table, from, to, GridFilter::kBicubic).error().code();
  };
  EXPECT_EQ(code({.h = 2, .w = 2}, {.h = 1, .w = 1}), ErrorCode::kShapeMismatch);
  EXPECT_EQ(code({.h = 2, .w = 3}, {.h = 0, .w = 1}), ErrorCode::kShapeMismatch);
  EXPECT_TRUE(interpolate_grid(table, {.h = 2, .w = 3}, {.h = 1, .w = 1}, GridFilter::kBicubic));
}

}  // namespace
}  // namespace foveal::ops
