// Linear layers against sums in double: shapes, dtypes, epilogues, and that a row's bits are its
// own.
#include "ops/linear.hpp"

#include "ops/support.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

namespace foveal::ops {
namespace {

using ops_test::EveryIsa;
using ops_test::Matrix;

double reference_activation(Activation activation, double x) {
  switch (activation) {
    case Activation::kGelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Activation::kGeluTanh:
      return 0.5 * x *
             (1.0 +
              std::tanh(std::sqrt(2.0 / 3.14159265358979323846) * (x + 0.044715 * x * x * x)));
    case Activation::kQuickGelu:
      return x / (1.0 + std::exp(-1.702 * x));
    case Activation::kSilu:
      return x / (1.0 + std::exp(-x));
    case Activation::kTanh:
      return std::tanh(x);
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kNone:
      break;
  }
  return x;
}

constexpr Activation kAllActivations[] = {
    Activation::kNone, Activation::kGelu, Activation::kGeluTanh, Activation::kQuickGelu,
    Activation::kSilu, Activation::kTanh, Activation::kRelu};

// A weight (n, k) with an optional bias, contiguous, and what the layer makes of it.
struct Layer {
  std::vector<float> weight;
  std::vector<float> bias;  // empty: none
  std::int64_t n = 0;
  std::int64_t k = 0;

  Layer(std::int64_t n_, std::int64_t k_, bool with_bias, unsigned seed) : n(n_), k(k_) {
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal(0.0F, 1.0F / std::sqrt(static_cast<float>(k_)));
    weight.resize(static_cast<std::size_t>(n * k));
    for (float& x : weight) {
      x = normal(engine);
    }
    bias.resize(with_bias ? static_cast<std::size_t>(n) : 0);
    for (float& x : bias) {
      x = normal(engine);
    }
  }
  Result<LinearWeights> pack(const Exec& exec, DType compute) const {
    std::optional<ConstTensorView> b;
    if (!bias.empty()) {
      b = ConstTensorView(bias.data(), DType::kF32, {n});
    }
    return LinearWeights::pack(exec, {weight.data(), DType::kF32, {n, k}}, b, compute);
  }
  // Sum and the sum of magnitudes, which bounds the rounding.
  struct Sum {
    double value = 0;
    double magnitude = 0;
  };
  Sum sum(const Matrix& in, std::int64_t row, std::int64_t column, DType compute) const {
    Sum s;
    for (std::int64_t i = 0; i < k; ++i) {
      const double w = ops_test::rounded(weight[static_cast<std::size_t>(column * k + i)], compute);
      const double term = w * static_cast<double>(in.at(row, i));
      s.value += term;
      s.magnitude += std::abs(term);
    }
    if (!bias.empty()) {
      s.value += static_cast<double>(bias[static_cast<std::size_t>(column)]);
      s.magnitude += std::abs(static_cast<double>(bias[static_cast<std::size_t>(column)]));
    }
    return s;
  }
};

struct Case {
  std::int64_t m = 0;
  std::int64_t k = 0;
  std::int64_t n = 0;
  DType compute = DType::kF32;
  DType out = DType::kF32;
  Activation activation = Activation::kNone;
  bool bias = false;
  bool gated = false;
  bool scale = false;
  bool residual = false;
  unsigned seed = 0;

  std::string text() const {
    return "m " + std::to_string(m) + " k " + std::to_string(k) + " n " + std::to_string(n) +
           " compute " + std::string(dtype_name(compute)) + " out " + std::string(dtype_name(out)) +
           " activation " + std::to_string(static_cast<int>(activation)) + (bias ? " bias" : "") +
           (gated ? " gated" : "") + (scale ? " scale" : "") + (residual ? " residual" : "") +
           " seed " + std::to_string(seed);
  }
};

void check_case(const Exec& exec, const Case& c) {
  SCOPED_TRACE(c.text());
  const Layer layer(c.n, c.k, c.bias, c.seed);
  const Layer up_layer(c.n, c.k, c.bias, c.seed + 1000);
  const Matrix in = Matrix::random(c.compute, c.m, c.k, c.seed + 1);
  Matrix out(c.out, c.m, c.n, 9);  // strides apart: a mixed-up one shows
  const Matrix residual = Matrix::random(DType::kF32, c.m, c.n, c.seed + 2);
  const Matrix scale = Matrix::random(DType::kF32, 1, c.n, c.seed + 3);
  const auto weights = layer.pack(exec, c.compute);
  const auto up = up_layer.pack(exec, c.compute);
  ASSERT_TRUE(weights && up);
  LinearArgs args{
      .in = in.view(), .weights = &*weights, .out = out.view(), .activation = c.activation};
  args.up = c.gated ? &*up : nullptr;
  args.scale = c.scale ? scale.view().as<float>() : nullptr;
  if (c.residual) {
    args.residual = residual.view();
  }
  ASSERT_TRUE(linear(exec, args));
  EXPECT_TRUE(out.guards_intact());
  // Activations here have slopes up to 1.13; sums of k terms err by k roundings of the magnitudes
  // at worst.
  const double unit = 0x1p-24 * static_cast<double>(c.k + 4);
  for (std::int64_t r = 0; r < c.m; ++r) {
    for (std::int64_t j = 0; j < c.n; ++j) {
      const Layer::Sum s = layer.sum(in, r, j, c.compute);
      double want = reference_activation(c.activation, s.value);
      double bound = 1.2 * unit * s.magnitude + 4e-7 * (1.0 + std::abs(want));
      if (c.gated) {
        const Layer::Sum u = up_layer.sum(in, r, j, c.compute);
        bound =
            bound * (std::abs(u.value) + unit * u.magnitude) + unit * u.magnitude * std::abs(want);
        want *= u.value;
      }
      if (c.scale) {
        want *= static_cast<double>(scale.at(0, j));
        bound *= std::abs(static_cast<double>(scale.at(0, j)));
      }
      if (c.residual) {
        want += static_cast<double>(residual.at(r, j));
      }
      bound += (ops_test::output_rounding(c.out) + 0x1p-22) * std::abs(want) + 1e-12;
      ASSERT_LE(std::abs(static_cast<double>(out.at(r, j)) - want), bound)
          << "row " << r << " column " << j << " got " << out.at(r, j) << " want " << want;
    }
  }
}

class Linear : public EveryIsa {};
FOVEAL_FOR_EVERY_ISA(Linear);

TEST_P(Linear, EqualsTheSumInDoubleForRandomShapesAndEpilogues) {
  std::mt19937 engine(20);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(engine);
  };
  for (unsigned i = 0; i < 120; ++i) {
    Case c;
    c.m = pick(1, 40);
    c.k = pick(0, 3) == 0 ? pick(500, 1100) : pick(1, 130);
    c.n = pick(1, 150);
    c.compute = pick(0, 1) == 0 ? DType::kF32 : DType::kBF16;
    c.out = pick(0, 2) == 0 ? DType::kBF16 : DType::kF32;
    c.activation = kAllActivations[static_cast<std::size_t>(pick(0, 6))];
    c.bias = pick(0, 1) == 1;
    c.gated = pick(0, 2) == 0;
    c.scale = pick(0, 2) == 0;
    c.residual = pick(0, 2) == 0;
    c.seed = i;
    check_case(exec(), c);
    if (HasFatalFailure()) {
      return;
    }
  }
}

TEST_P(Linear, ServesShapesOfOneAndTheEdgesOfPanels) {
  unsigned seed = 0;
  for (const std::int64_t m : {1, 2, 3, 13}) {
    for (const std::int64_t k : {1, 2, 17, 512, 513}) {
      for (const std::int64_t n : {1, 7, 8, 15, 16, 17, 31, 32, 33, 127, 128, 129}) {
        for (const DType compute : {DType::kF32, DType::kBF16}) {
          check_case(exec(),
                     {.m = m, .k = k, .n = n, .compute = compute, .bias = true, .seed = ++seed});
          if (HasFatalFailure()) {
            return;
          }
        }
      }
    }
  }
}

TEST_P(Linear, DoesNothingForNoRows) {
  const Layer layer(3, 5, true, 1);
  const auto weights = layer.pack(exec(), DType::kF32);
  ASSERT_TRUE(weights);
  const LinearArgs args{.in = {nullptr, DType::kF32, {0, 5}},
                        .weights = &*weights,
                        .out = {nullptr, DType::kF32, {0, 3}}};
  EXPECT_TRUE(linear(exec(), args));
}

TEST_P(Linear, WritesOverItsResidual) {
  const Layer layer(37, 20, true, 3);
  const auto weights = layer.pack(exec(), DType::kF32);
  ASSERT_TRUE(weights);
  const Matrix in = Matrix::random(DType::kF32, 29, 20, 4);
  const Matrix residual = Matrix::random(DType::kF32, 29, 37, 5);
  Matrix apart(DType::kF32, 29, 37);
  Matrix over = residual;
  LinearArgs args{.in = in.view(), .weights = &*weights, .out = apart.view()};
  args.residual = residual.view();
  ASSERT_TRUE(linear(exec(), args));
  args.out = over.view();
  args.residual = over.view();
  ASSERT_TRUE(linear(exec(), args));
  EXPECT_TRUE(over.equals(apart));
}

// Runs the rows of `in` named by `index`, in that order, as one call.
Matrix run_rows(const Exec& exec, const LinearWeights& weights, const LinearWeights& up,
                const Matrix& in, DType compute, const std::vector<std::int64_t>& index) {
  const auto count = static_cast<std::int64_t>(index.size());
  Matrix picked(compute, count, in.columns());
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::int64_t c = 0; c < in.columns(); ++c) {
      picked.set(r, c, in.at(index[static_cast<std::size_t>(r)], c));
    }
  }
  Matrix out(DType::kF32, count, weights.n());
  const LinearArgs args{.in = picked.view(),
                        .weights = &weights,
                        .out = out.view(),
                        .activation = Activation::kGelu,
                        .up = &up};
  EXPECT_TRUE(linear(exec, args));
  return out;
}

TEST_P(Linear, GivesARowTheSameBitsInAnyCompany) {
  constexpr std::int64_t kRows = 40;
  ThreadPool one(1);
  ThreadPool two(2);
  for (const DType compute : {DType::kF32, DType::kBF16}) {
    for (const std::int64_t k : {75, 1100}) {
      const Layer layer(170, k, true, 8);
      const Layer up_layer(170, k, true, 9);
      const auto weights = layer.pack(exec(), compute);
      const auto up = up_layer.pack(exec(), compute);
      ASSERT_TRUE(weights && up);
      const Matrix in = Matrix::random(compute, kRows, k, 10);
      std::vector<std::int64_t> all(kRows);
      std::iota(all.begin(), all.end(), 0);
      const Matrix whole = run_rows(exec_with(one), *weights, *up, in, compute, all);
      std::mt19937 engine(11);
      for (std::size_t m = 1; m <= kRows; ++m) {
        std::vector<std::int64_t> index = all;
        std::shuffle(index.begin(), index.end(), engine);
        index.resize(m);
        for (ThreadPool* pool : {&one, &two}) {
          const Matrix part = run_rows(exec_with(*pool), *weights, *up, in, compute, index);
          for (std::size_t r = 0; r < m; ++r) {
            ASSERT_TRUE(part.row_equals(static_cast<std::int64_t>(r), whole, index[r]))
                << "m " << m << " row " << index[r] << " k " << k << " threads " << pool->size();
          }
        }
      }
    }
  }
}

TEST_P(Linear, GivesTheSameBitsForManyRowsAndThreads) {
  constexpr std::int64_t kRows = 900;  // several blocks of rows
  ThreadPool one(1);
  ThreadPool three(3);
  for (const DType compute : {DType::kF32, DType::kBF16}) {
    const Layer layer(65, 384, true, 8);
    const auto weights = layer.pack(exec(), compute);
    ASSERT_TRUE(weights);
    const Matrix in = Matrix::random(compute, kRows, 384, 10);
    std::vector<std::int64_t> all(kRows);
    std::iota(all.begin(), all.end(), 0);
    const Matrix whole = run_rows(exec_with(one), *weights, *weights, in, compute, all);
    EXPECT_TRUE(run_rows(exec_with(three), *weights, *weights, in, compute, all).equals(whole));
    for (const std::int64_t r : {0, 100, 450, 899}) {
      EXPECT_TRUE(
          run_rows(exec_with(one), *weights, *weights, in, compute, {r}).row_equals(0, whole, r));
    }
  }
}

// A weight of ones and K = 1 make the layer the bare activation.
std::vector<float> activate(const Exec& exec, Activation activation,
                            const std::vector<float>& values) {
  const float one = 1.0F;
  const auto weights =
      LinearWeights::pack(exec, {&one, DType::kF32, {1, 1}}, std::nullopt, DType::kF32);
  EXPECT_TRUE(weights);
  std::vector<float> out(values.size(), std::numeric_limits<float>::quiet_NaN());
  const auto count = static_cast<std::int64_t>(values.size());
  const LinearArgs args{.in = {values.data(), DType::kF32, {count, 1}},
                        .weights = &*weights,
                        .out = {out.data(), DType::kF32, {count, 1}},
                        .activation = activation};
  EXPECT_TRUE(linear(exec, args));
  return out;
}

class Activations : public EveryIsa {};
FOVEAL_FOR_EVERY_ISA(Activations);

TEST_P(Activations, StayWithinTwoTenMillionthsOfDouble) {
  std::vector<float> values{
      0.0F, -0.0F, 1e-30F, -1e-30F, 1e-40F, 0.625F, std::nextafter(0.625F, 0.0F)};
  for (int i = -400000; i <= 400000; ++i) {
    values.push_back(static_cast<float>(i) * 5e-5F);  // [-20, 20]
  }
  for (float x = 20.0F; x < 3e38F; x *= 1.01F) {
    values.push_back(x);
    values.push_back(-x);
    values.push_back(1.0F / x);
    values.push_back(-1.0F / x);
  }
  for (const Activation activation : kAllActivations) {
    const std::vector<float> got = activate(exec(), activation, values);
    double worst = 0;
    float where = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double want = reference_activation(activation, static_cast<double>(values[i]));
      const double error = std::abs(static_cast<double>(got[i]) - want) / (1.0 + std::abs(want));
      if (!(error <= worst)) {
        worst = error;
        where = values[i];
      }
    }
    EXPECT_LE(worst, 2e-7) << "activation " << static_cast<int>(activation) << " at " << where;
    RecordProperty("worst_" + std::to_string(static_cast<int>(activation)),
                   std::to_string(worst * 1e9) + "e-9");
  }
}

TEST_P(Activations, PropagateNanAndKeepInfinityOnTheRight) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  for (const Activation activation : kAllActivations) {
    const std::vector<float> got = activate(exec(), activation, {nan, inf, -nan});
    EXPECT_TRUE(std::isnan(got[0])) << static_cast<int>(activation);
    EXPECT_TRUE(std::isnan(got[2])) << static_cast<int>(activation);
    EXPECT_EQ(got[1], activation == Activation::kTanh ? 1.0F : inf) << static_cast<int>(activation);
  }
}

TEST_P(Linear, PacksUnalignedHalfPrecisionWeights) {
  const std::int64_t n = 19;
  const std::int64_t k = 33;
  const Layer layer(n, k, true, 30);
  const Matrix in = Matrix::random(DType::kF32, 4, k, 31);
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    std::vector<std::byte> mapped(static_cast<std::size_t>(2 * n * k + 1));
    std::vector<float> exact = layer.weight;
    for (std::size_t i = 0; i < layer.weight.size(); ++i) {
      const std::uint16_t bits =
          dtype == DType::kF16 ? f32_to_f16(layer.weight[i]) : f32_to_bf16(layer.weight[i]);
      exact[i] = dtype == DType::kF16 ? f16_to_f32(bits) : bf16_to_f32(bits);
      std::memcpy(mapped.data() + 1 + 2 * i, &bits, 2);
    }
    const auto from_half =
        LinearWeights::pack(exec(), {mapped.data() + 1, dtype, {n, k}}, std::nullopt, DType::kF32);
    const auto from_float =
        LinearWeights::pack(exec(), {exact.data(), DType::kF32, {n, k}}, std::nullopt, DType::kF32);
    ASSERT_TRUE(from_half && from_float);
    Matrix a(DType::kF32, 4, n);
    Matrix b(DType::kF32, 4, n);
    ASSERT_TRUE(linear(exec(), {.in = in.view(), .weights = &*from_half, .out = a.view()}));
    ASSERT_TRUE(linear(exec(), {.in = in.view(), .weights = &*from_float, .out = b.view()}));
    EXPECT_TRUE(a.equals(b)) << dtype_name(dtype);
  }
}

TEST(LinearErrors, NameTheTensorThatDoesNotFit) {
  ThreadPool pool(1);
  const Exec exec{.device = {}, .pool = &pool, .isa = CpuIsa::kGeneric};
  const Layer layer(3, 4, true, 1);
  const auto weights = layer.pack(exec, DType::kF32);
  ASSERT_TRUE(weights);
  Matrix in = Matrix::random(DType::kF32, 2, 4, 1);
  Matrix half = Matrix::random(DType::kBF16, 2, 4, 1);
  Matrix out(DType::kF32, 2, 3);
  Matrix narrow(DType::kF32, 2, 2);
  const auto code = [&](const LinearArgs& args) { return linear(exec, args).error().code(); };
  const LinearArgs good{.in = in.view(), .weights = &*weights, .out = out.view()};
  ASSERT_TRUE(linear(exec, good));
  LinearArgs bad = good;
  bad.in = narrow.view();
  EXPECT_EQ(code(bad), ErrorCode::kShapeMismatch);
  bad = good;
  bad.out = narrow.view();
  const Status status = linear(exec, bad);
  EXPECT_EQ(status.error().code(), ErrorCode::kShapeMismatch);
  EXPECT_EQ(status.error().field("tensor")->text(), "out");
  EXPECT_EQ(status.error().field("expected")->text(), "(2, 3)");
  bad = good;
  bad.in = half.view();
  EXPECT_EQ(code(bad), ErrorCode::kDtypeMismatch);
  bad = good;
  bad.out.dtype = DType::kF16;
  EXPECT_EQ(code(bad), ErrorCode::kDtypeUnsupported);
  bad = good;
  bad.in.strides[1] = Elements(2);
  EXPECT_EQ(code(bad), ErrorCode::kStrideUnsupported);
  bad = good;
  bad.residual = narrow.view();
  EXPECT_EQ(code(bad), ErrorCode::kShapeMismatch);
  bad = good;
  bad.out.device.kind = DeviceKind::kCuda;
  EXPECT_EQ(code(bad), ErrorCode::kDeviceMismatch);
  const Layer other(2, 4, false, 1);
  const auto up = other.pack(exec, DType::kF32);
  ASSERT_TRUE(up);
  bad = good;
  bad.up = &*up;
  EXPECT_EQ(code(bad), ErrorCode::kShapeMismatch);
  Exec cuda = exec;
  cuda.device.kind = DeviceKind::kCuda;
  EXPECT_EQ(linear(cuda, good).error().code(), ErrorCode::kDeviceUnavailable);
}

TEST(LinearErrors, RefuseWeightsThatCannotBePacked) {
  ThreadPool pool(1);
  const Exec exec{.device = {}, .pool = &pool, .isa = CpuIsa::kGeneric};
  const std::vector<float> data(12);
  const ConstTensorView weight(data.data(), DType::kF32, {3, 4});
  const auto code = [&](const ConstTensorView& w, const std::optional<ConstTensorView>& b,
                        DType compute) {
    return LinearWeights::pack(exec, w, b, compute).error().code();
  };
  EXPECT_EQ(code({data.data(), DType::kI32, {3, 4}}, std::nullopt, DType::kF32),
            ErrorCode::kDtypeUnsupported);
  EXPECT_EQ(code(weight, std::nullopt, DType::kF16), ErrorCode::kDtypeUnsupported);
  EXPECT_EQ(code({data.data(), DType::kF32, {12}}, std::nullopt, DType::kF32),
            ErrorCode::kShapeMismatch);
  EXPECT_EQ(code({data.data(), DType::kF32, {0, 4}}, std::nullopt, DType::kF32),
            ErrorCode::kShapeMismatch);
  EXPECT_EQ(code(weight, ConstTensorView(data.data(), DType::kF32, {4}), DType::kF32),
            ErrorCode::kShapeMismatch);
}

}  // namespace
}  // namespace foveal::ops
