// The attention layer, the MLP and the block against the same formulas written out in double.
#include "layers/block.hpp"

#include "backends/registry.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace foveal {
namespace {

using Matrix = std::vector<std::vector<double>>;

constexpr std::int64_t kHeads = 3;
constexpr std::int64_t kHeadDim = 16;
constexpr std::int64_t kWidth = kHeads * kHeadDim;
constexpr std::int64_t kHidden = 40;  // not the heads' width: the projections change it
constexpr std::int64_t kInner = 56;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  Tensor tensor(const Shape& shape, float gain) {
    Tensor out = Tensor::allocate(DType::kF32, shape, "test").value();
    for (std::int64_t i = 0; i < out.numel(); ++i) {
      out.data<float>()[i] = gain * normal_(engine_);
    }
    return out;
  }

 private:
  std::mt19937 engine_;
  std::normal_distribution<float> normal_;
};

Matrix rows_of(const Tensor& t, std::int64_t columns) {
  Matrix out(static_cast<std::size_t>(t.numel() / columns));
  for (std::size_t r = 0; r < out.size(); ++r) {
    const float* row = t.data<float>() + static_cast<std::int64_t>(r) * columns;
    out[r].assign(row, row + columns);
  }
  return out;
}

// x W^T + b
Matrix linear(const Matrix& x, const Tensor& weight, const Tensor& bias) {
  const std::int64_t n = weight.shape()[0];
  const std::int64_t k = weight.shape()[1];
  Matrix out(x.size(), std::vector<double>(static_cast<std::size_t>(n)));
  for (std::size_t r = 0; r < x.size(); ++r) {
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = static_cast<double>(bias.data<float>()[i]);
      for (std::int64_t j = 0; j < k; ++j) {
        sum += x[r][static_cast<std::size_t>(j)] *
               static_cast<double>(weight.data<float>()[i * k + j]);
      }
      out[r][static_cast<std::size_t>(i)] = sum;
    }
  }
  return out;
}

// RMSNorm over `group` neighbouring columns, weight (group).
void rms_norm(Matrix& x, std::size_t group, const Tensor& weight, double eps) {
  for (auto& row : x) {
    for (std::size_t first = 0; first < row.size(); first += group) {
      double sum = 0;
      for (std::size_t i = 0; i < group; ++i) {
        sum += row[first + i] * row[first + i];
      }
      const double inverse = 1.0 / std::sqrt(sum / static_cast<double>(group) + eps);
      for (std::size_t i = 0; i < group; ++i) {
        row[first + i] *= inverse * static_cast<double>(weight.data<float>()[i]);
      }
    }
  }
}

// x cos + rotate_half(x) sin, each head apart; cos, sin (T, head_dim).
void rotate(Matrix& x, const Tensor& cos, const Tensor& sin) {
  for (std::size_t t = 0; t < x.size(); ++t) {
    for (std::int64_t h = 0; h < kHeads; ++h) {
      std::vector<double> head(x[t].begin() + h * kHeadDim, x[t].begin() + (h + 1) * kHeadDim);
      for (std::int64_t d = 0; d < kHeadDim; ++d) {
        const std::int64_t half = kHeadDim / 2;
        const double other = d < half ? -head[static_cast<std::size_t>(d + half)]
                                      : head[static_cast<std::size_t>(d - half)];
        const std::int64_t at = static_cast<std::int64_t>(t) * kHeadDim + d;
        x[t][static_cast<std::size_t>(h * kHeadDim + d)] =
            head[static_cast<std::size_t>(d)] * static_cast<double>(cos.data<float>()[at]) +
            other * static_cast<double>(sin.data<float>()[at]);
      }
    }
  }
}

Matrix attend(const Matrix& q, const Matrix& k, const Matrix& v, const PackedSeqs& seqs) {
  Matrix out(q.size(), std::vector<double>(static_cast<std::size_t>(kWidth)));
  for (std::int64_t b = 0; b < seqs.size(); ++b) {
    const std::int64_t first = seqs[b].begin.v;
    const std::int64_t last = first + seqs[b].length.v;
    for (std::int64_t h = 0; h < kHeads; ++h) {
      for (std::int64_t i = first; i < last; ++i) {
        std::vector<double> p;
        double sum = 0;
        for (std::int64_t j = first; j < last; ++j) {
          double dot = 0;
          for (std::int64_t d = h * kHeadDim; d < (h + 1) * kHeadDim; ++d) {
            dot += q[static_cast<std::size_t>(i)][static_cast<std::size_t>(d)] *
                   k[static_cast<std::size_t>(j)][static_cast<std::size_t>(d)];
          }
          p.push_back(std::exp(dot / std::sqrt(static_cast<double>(kHeadDim))));
          sum += p.back();
        }
        for (std::int64_t d = h * kHeadDim; d < (h + 1) * kHeadDim; ++d) {
          double value = 0;
          for (std::int64_t j = first; j < last; ++j) {
            value += p[static_cast<std::size_t>(j - first)] *
                     v[static_cast<std::size_t>(j)][static_cast<std::size_t>(d)];
          }
          out[static_cast<std::size_t>(i)][static_cast<std::size_t>(d)] = value / sum;
        }
      }
    }
  }
  return out;
}

Tensor copy(const Tensor& from) {
  Tensor out = Tensor::allocate(DType::kF32, from.shape(), "test").value();
  convert_to_f32(from.data<float>(), DType::kF32, out.data<float>(), from.numel());
  return out;
}

class Layers : public ::testing::TestWithParam<CpuIsa> {
 protected:
  void SetUp() override {
    if (!cpu_.has(GetParam())) {
      GTEST_SKIP() << "this machine has no " << isa_name(GetParam());
    }
  }
  ops::LinearWeights pack(const Tensor& weight, const Tensor& bias) const {
    return ops::LinearWeights::pack(exec_, weight.view(), bias.view(), DType::kF32).value();
  }
  AttentionPlan plan(const PackedSeqs& seqs) const {
    AttentionProblem p;
    p.heads.num_heads = kHeads;
    p.heads.head_dim = kHeadDim;
    p.q_seqs = seqs;
    p.k_seqs = seqs;
    return make_plan(p, kBackends, {.cpu = cpu_, .isa = GetParam(), .threads = 2}, "").value();
  }

  CpuInfo cpu_ = detect_cpu();
  ThreadPool pool_{2};
  Exec exec_{.device = {}, .pool = &pool_, .isa = GetParam()};
  Arena arena_;
  layers::Pass pass_{exec_, arena_, DType::kF32};
  Random random_{17};
};

// Values are of order 1, sums of up to 56 products in f32.
constexpr double kTolerance = 2e-5;

void expect_near(const Tensor& got, const Matrix& want) {
  const std::size_t columns = want[0].size();
  for (std::size_t r = 0; r < want.size(); ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      ASSERT_NEAR(static_cast<double>(got.data<float>()[r * columns + c]), want[r][c], kTolerance)
          << r << ", " << c;
    }
  }
}

struct AttentionCase {
  bool norms;
  layers::QkNormScope scope;
  bool rope;
  bool scale;
};

TEST_P(Layers, AttentionFollowsItsFormulaWithEveryOption) {
  const std::vector<std::int64_t> lengths{5, 0, 1, 12};
  const PackedSeqs seqs = PackedSeqs::from_lengths(std::span<const std::int64_t>(lengths)).value();
  const std::int64_t rows = seqs.total_tokens().v;
  const AttentionPlan attention_plan = plan(seqs);
  using layers::QkNormScope;
  for (const AttentionCase& c : {AttentionCase{false, QkNormScope::kPerHead, false, false},
                                 AttentionCase{true, QkNormScope::kPerHead, true, true},
                                 AttentionCase{true, QkNormScope::kWholeWidth, false, true},
                                 AttentionCase{false, QkNormScope::kPerHead, true, false}}) {
    SCOPED_TRACE(std::string("norms ") + std::to_string(c.norms) + " whole " +
                 std::to_string(c.scope == QkNormScope::kWholeWidth) + " rope " +
                 std::to_string(c.rope));
    const Tensor in = random_.tensor({rows, kHidden}, 1.0F);
    Tensor hidden = random_.tensor({rows, kHidden}, 1.0F);
    const Tensor before = copy(hidden);
    const Tensor qkv_w = random_.tensor({3 * kWidth, kHidden}, 0.2F);
    const Tensor qkv_b = random_.tensor({3 * kWidth}, 0.2F);
    const Tensor proj_w = random_.tensor({kHidden, kWidth}, 0.2F);
    const Tensor proj_b = random_.tensor({kHidden}, 0.2F);
    const Tensor scale = random_.tensor({kHidden}, 1.0F);
    const Tensor cos = random_.tensor({rows, kHeadDim}, 1.0F);
    const Tensor sin = random_.tensor({rows, kHeadDim}, 1.0F);
    const std::int64_t group = c.scope == QkNormScope::kPerHead ? kHeadDim : kWidth;
    const Tensor q_weight = random_.tensor({group}, 1.0F);
    const Tensor k_weight = random_.tensor({group}, 1.0F);

    layers::VisionAttentionWeights w;
    w.qkv = pack(qkv_w, qkv_b);
    w.proj = pack(proj_w, proj_b);
    w.num_heads = kHeads;
    w.head_dim = kHeadDim;
    w.qk_norm_scope = c.scope;
    if (c.norms) {
      w.q_norm.emplace(ops::NormWeights{
          .kind = ops::NormKind::kRmsNorm, .eps = 1e-3F, .weight = copy(q_weight)});
      w.k_norm.emplace(ops::NormWeights{
          .kind = ops::NormKind::kRmsNorm, .eps = 1e-3F, .weight = copy(k_weight)});
    }
    layers::AttentionArgs args{.in = in.view(), .plan = &attention_plan, .hidden = hidden.view()};
    if (c.rope) {
      args.rope = layers::RopeTable{.cos = cos.data<float>(), .sin = sin.data<float>()};
    }
    args.scale = c.scale ? scale.data<float>() : nullptr;
    const auto status = layers::vision_attention(pass_, w, args);
    ASSERT_TRUE(status) << status.error().describe();

    const Matrix fused = linear(rows_of(in, kHidden), qkv_w, qkv_b);
    Matrix parts[3];
    for (int i = 0; i < 3; ++i) {
      for (const auto& row : fused) {
        parts[i].emplace_back(row.begin() + i * kWidth, row.begin() + (i + 1) * kWidth);
      }
    }
    if (c.norms) {
      rms_norm(parts[0], static_cast<std::size_t>(group), q_weight, 1e-3);
      rms_norm(parts[1], static_cast<std::size_t>(group), k_weight, 1e-3);
    }
    if (c.rope) {
      rotate(parts[0], cos, sin);
      rotate(parts[1], cos, sin);
    }
    Matrix want = linear(attend(parts[0], parts[1], parts[2], seqs), proj_w, proj_b);
    for (std::size_t r = 0; r < want.size(); ++r) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(kHidden); ++i) {
        want[r][i] = static_cast<double>(before.data<float>()[r * kHidden + i]) +
                     want[r][i] * (c.scale ? static_cast<double>(scale.data<float>()[i]) : 1.0);
      }
    }
    expect_near(hidden, want);
  }
}

TEST_P(Layers, MlpIsPlainOrGated) {
  for (const bool gated : {false, true}) {
    const Tensor in = random_.tensor({7, kHidden}, 1.0F);
    const Tensor w1 = random_.tensor({kInner, kHidden}, 0.2F);
    const Tensor b1 = random_.tensor({kInner}, 0.2F);
    const Tensor wu = random_.tensor({kInner, kHidden}, 0.2F);
    const Tensor bu = random_.tensor({kInner}, 0.2F);
    const Tensor w2 = random_.tensor({24, kInner}, 0.2F);
    const Tensor b2 = random_.tensor({24}, 0.2F);
    layers::MlpWeights w;
    w.fc1 = pack(w1, b1);
    w.fc2 = pack(w2, b2);
    w.activation = ops::Activation::kSilu;
    if (gated) {
      w.up = pack(wu, bu);
    }
    Tensor out = Tensor::allocate(DType::kF32, {7, 24}, "test").value();
    ASSERT_TRUE(layers::mlp(pass_, w, {.in = in.view(), .out = out.view()}));
    Matrix inner = linear(rows_of(in, kHidden), w1, b1);
    const Matrix up = linear(rows_of(in, kHidden), wu, bu);
    for (std::size_t r = 0; r < inner.size(); ++r) {
      for (std::size_t i = 0; i < inner[r].size(); ++i) {
        const double x = inner[r][i];
        inner[r][i] = x / (1.0 + std::exp(-x)) * (gated ? up[r][i] : 1.0);
      }
    }
    expect_near(out, linear(inner, w2, b2));
  }
}

INSTANTIATE_TEST_SUITE_P(Isas, Layers,
                         ::testing::Values(CpuIsa::kGeneric, CpuIsa::kAvx512, CpuIsa::kAmx),
                         [](const ::testing::TestParamInfo<CpuIsa>& p) {
                           return std::string(isa_name(p.param));
                         });

}  // namespace
}  // namespace foveal
