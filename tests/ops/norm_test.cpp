// Norms against double.
#include "ops/norm.hpp"

#include "ops/support.hpp"

namespace foveal::ops {
namespace {

using ops_test::EveryIsa;
using ops_test::Matrix;

Tensor parameter(std::int64_t n, unsigned seed) {
  auto t = Tensor::allocate(DType::kF32, {n}, "test");
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal(1.0F, 0.5F);
  for (std::int64_t i = 0; i < n; ++i) {
    t->data<float>()[i] = normal(engine);
  }
  return std::move(*t);
}

struct Expected {
  double mean = 0;
  double factor = 0;
};
Expected statistics(const Matrix& in, std::int64_t row, std::int64_t first, std::int64_t n,
                    const NormWeights& w) {
  Expected e;
  if (w.kind == NormKind::kLayerNorm) {
    for (std::int64_t i = 0; i < n; ++i) {
      e.mean += static_cast<double>(in.at(row, first + i)) / static_cast<double>(n);
    }
  }
  double square = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const double d = static_cast<double>(in.at(row, first + i)) - e.mean;
    square += d * d / static_cast<double>(n);
  }
  e.factor = 1.0 / std::sqrt(square + static_cast<double>(w.eps));
  return e;
}

void check(const Matrix& in, const Matrix& out, DType out_dtype, std::int64_t heads,
           const NormWeights& w) {
  const std::int64_t n = in.columns() / heads;
  for (std::int64_t r = 0; r < in.rows(); ++r) {
    for (std::int64_t h = 0; h < heads; ++h) {
      const Expected e = statistics(in, r, h * n, n, w);
      for (std::int64_t i = 0; i < n; ++i) {
        const double x = static_cast<double>(in.at(r, h * n + i));
        const double weight = w.weight.numel() > 1 || w.weight.shape().rank() == 1
                                  ? static_cast<double>(w.weight.data<float>()[i])
                                  : 1.0;
        const double bias =
            w.bias.shape().rank() == 1 ? static_cast<double>(w.bias.data<float>()[i]) : 0.0;
        const double scaled = (x - e.mean) * e.factor * weight;
        const double want = scaled + bias;
        // A mean of n values errs by a few roundings of the largest; 16 covers the longest lane of
        // sums.
        const double bound =
            16 * 0x1p-24 *
                (std::abs(scaled) + std::abs(e.mean * e.factor * weight) + std::abs(bias)) +
            ops_test::output_rounding(out_dtype) * std::abs(want) + 1e-7;
        ASSERT_LE(std::abs(static_cast<double>(out.at(r, h * n + i)) - want), bound)
            << "row " << r << " head " << h << " of " << heads << " value " << i << " of " << n;
      }
    }
  }
}

class Norm : public EveryIsa {};
FOVEAL_FOR_EVERY_ISA(Norm);

TEST_P(Norm, EqualsDoubleForEveryWidthDtypeAndKind) {
  unsigned seed = 0;
  for (const NormKind kind : {NormKind::kLayerNorm, NormKind::kRmsNorm}) {
    for (const std::int64_t n : {1, 2, 3, 15, 16, 17, 63, 64, 65, 72, 384, 1000, 1152}) {
      for (const DType from : {DType::kF32, DType::kBF16}) {
        for (const DType to : {DType::kF32, DType::kBF16}) {
          ++seed;
          SCOPED_TRACE("n " + std::to_string(n) + " seed " + std::to_string(seed));
          NormWeights w{.kind = kind, .eps = 1e-5F};
          if (seed % 3 != 0) {
            w.weight = parameter(n, seed);
          }
          if (seed % 4 != 0) {
            w.bias = parameter(n, seed + 1);
          }
          const Matrix in = Matrix::random(from, 9, n, seed, 3.0F);
          Matrix out(to, 9, n, 3);
          ASSERT_TRUE(norm(exec(), in.view(), w, out.view()));
          EXPECT_TRUE(out.guards_intact());
          check(in, out, to, 1, w);
          if (HasFatalFailure()) {
            return;
          }
        }
      }
    }
  }
}

TEST_P(Norm, NormalisesEachHeadApart) {
  for (const std::int64_t heads : {1, 3, 16}) {
    NormWeights w{.kind = NormKind::kRmsNorm, .weight = parameter(24, 5)};
    Matrix in = Matrix::random(DType::kF32, 7, heads * 24, 6);
    Matrix out(DType::kF32, 7, heads * 24);
    ASSERT_TRUE(norm(exec(), in.heads_view(heads), w, out.heads_view(heads)));
    EXPECT_TRUE(out.guards_intact());
    check(in, out, DType::kF32, heads, w);
  }
}

TEST_P(Norm, DoesNotCancelWhereTheMeanIsLarge) {
  Matrix in = Matrix::random(DType::kF32, 3, 300, 7);
  for (std::int64_t r = 0; r < 3; ++r) {
    for (std::int64_t c = 0; c < 300; ++c) {
      in.set(r, c, in.at(r, c) + 1000.0F);
    }
  }
  const NormWeights w{.eps = 1e-6F};
  Matrix out(DType::kF32, 3, 300);
  ASSERT_TRUE(norm(exec(), in.view(), w, out.view()));
  check(in, out, DType::kF32, 1, w);
}

TEST_P(Norm, WorksInPlaceAndForAnyNumberOfThreads) {
  ThreadPool one(1);
  const NormWeights w{.weight = parameter(100, 8), .bias = parameter(100, 9)};
  const Matrix in = Matrix::random(DType::kF32, 700, 100, 10);
  Matrix out(DType::kF32, 700, 100);
  ASSERT_TRUE(norm(exec_with(one), in.view(), w, out.view()));
  Matrix over = in;
  ASSERT_TRUE(norm(exec(), over.view(), w, over.view()));
  EXPECT_TRUE(over.equals(out));
}

TEST(NormErrors, NameTheTensorThatDoesNotFit) {
  ThreadPool pool(1);
  const Exec exec{.device = {}, .pool = &pool, .isa = CpuIsa::kGeneric};
  Matrix in = Matrix::random(DType::kF32, 2, 4, 1);
  Matrix narrow(DType::kF32, 2, 3);
  const NormWeights plain;
  EXPECT_EQ(norm(exec, in.view(), plain, narrow.view()).error().code(), ErrorCode::kShapeMismatch);
  const NormWeights wide{.weight = parameter(5, 1)};
  EXPECT_EQ(norm(exec, in.view(), wide, in.view()).error().field("tensor")->text(), "norm weight");
  TensorView f16 = in.view();
  f16.dtype = DType::kF16;
  EXPECT_EQ(norm(exec, f16, plain, f16).error().code(), ErrorCode::kDtypeUnsupported);
  EXPECT_EQ(
      norm(exec, {nullptr, DType::kF32, {4}}, plain, {nullptr, DType::kF32, {4}}).error().code(),
      ErrorCode::kShapeMismatch);
}

}  // namespace
}  // namespace foveal::ops
