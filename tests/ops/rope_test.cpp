// Rotary embedding against double.
#include "ops/rope.hpp"

#include "ops/support.hpp"

namespace foveal::ops {
namespace {

using ops_test::EveryIsa;
using ops_test::Matrix;

class Rope : public EveryIsa {};
FOVEAL_FOR_EVERY_ISA(Rope);

TEST_P(Rope, TurnsEveryHeadOfEveryRow) {
  unsigned seed = 0;
  for (const RopeStyle style : {RopeStyle::kRotateHalf, RopeStyle::kInterleaved}) {
    for (const DType dtype : {DType::kF32, DType::kBF16}) {
      for (const std::int64_t d : {2, 4, 6, 30, 32, 34, 64, 72, 80, 128}) {
        ++seed;
        constexpr std::int64_t kRows = 11;
        constexpr std::int64_t kHeads = 3;
        const Matrix before = Matrix::random(dtype, kRows, kHeads * d, seed);
        std::vector<float> cosine(static_cast<std::size_t>(kRows * d));
        std::vector<float> sine(static_cast<std::size_t>(kRows * d));
        std::mt19937 engine(seed + 100);
        std::uniform_real_distribution<float> angle(-3.0F, 3.0F);
        for (std::size_t i = 0; i < cosine.size();
             ++i) {  // not of one angle: every use of each shows
          cosine[i] = std::cos(angle(engine));
          sine[i] = std::sin(angle(engine));
        }
        Matrix x = before;
        ASSERT_TRUE(rope(exec(), x.heads_view(kHeads), cosine.data(), sine.data(), style));
        EXPECT_TRUE(x.guards_intact());
        for (std::int64_t r = 0; r < kRows; ++r) {
          for (std::int64_t h = 0; h < kHeads; ++h) {
            for (std::int64_t i = 0; i < d; ++i) {
              const bool half = style == RopeStyle::kRotateHalf;
              const std::int64_t partner = half ? (i < d / 2 ? i + d / 2 : i - d / 2) : i ^ 1;
              const bool first = half ? i < d / 2 : i % 2 == 0;
              const auto at = static_cast<std::size_t>(r * d + i);
              const double turned =
                  static_cast<double>(before.at(r, h * d + partner)) * (first ? -1.0 : 1.0);
              const double a =
                  static_cast<double>(before.at(r, h * d + i)) * static_cast<double>(cosine[at]);
              const double b = turned * static_cast<double>(sine[at]);
              const double bound = 0x1p-23 * (std::abs(a) + std::abs(b)) +
                                   ops_test::output_rounding(dtype) * std::abs(a + b);
              ASSERT_LE(std::abs(static_cast<double>(x.at(r, h * d + i)) - (a + b)), bound)
                  << "row " << r << " head " << h << " value " << i << " of " << d << " style "
                  << static_cast<int>(style);
            }
          }
        }
      }
    }
  }
}

TEST_P(Rope, GivesTheBitsOfTheGenericKernels) {
  ThreadPool one(1);
  const Matrix before = Matrix::random(DType::kF32, 300, 4 * 72, 3);
  const Matrix angles = Matrix::random(DType::kF32, 1, 2 * 300 * 72, 4);
  const float* cosine = angles.view().as<float>();
  for (const RopeStyle style : {RopeStyle::kRotateHalf, RopeStyle::kInterleaved}) {
    Matrix a = before;
    Matrix b = before;
    ASSERT_TRUE(rope(exec(), a.heads_view(4), cosine, cosine + 300 * 72, style));
    const Exec generic{.device = {}, .pool = &one, .isa = CpuIsa::kGeneric};
    ASSERT_TRUE(rope(generic, b.heads_view(4), cosine, cosine + 300 * 72, style));
    EXPECT_TRUE(a.equals(b));
  }
}

TEST(RopeErrors, RefuseOddHeadsAndOtherDtypes) {
  ThreadPool pool(1);
  const Exec exec{.device = {}, .pool = &pool, .isa = CpuIsa::kGeneric};
  std::vector<float> data(30);
  const auto code = [&](const TensorView& x) {
    return rope(exec, x, data.data(), data.data(), RopeStyle::kRotateHalf).error().code();
  };
  EXPECT_EQ(code({data.data(), DType::kF32, {2, 1, 3}}), ErrorCode::kShapeMismatch);
  EXPECT_EQ(code({data.data(), DType::kF32, {2, 4}}), ErrorCode::kShapeMismatch);
  EXPECT_EQ(code({data.data(), DType::kF16, {2, 1, 4}}), ErrorCode::kDtypeUnsupported);
}

}  // namespace
}  // namespace foveal::ops
