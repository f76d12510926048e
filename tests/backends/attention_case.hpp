// Attention problems for tests: buffers full of NaN with guard zones around them, several memory
// layouts, and a comparison against the reference with a tolerance computed from the data.
#pragma once

#include "attention/backend.hpp"
#include "backends/registry.hpp"
#include "base/half.hpp"
#include "base/thread_pool.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace foveal::test {

// Memory between two guard zones; contents start as 0xFF, which is NaN in every float format.
class Guarded {
 public:
  Guarded() = default;
  explicit Guarded(std::int64_t bytes) : bytes_(bytes) {
    const std::size_t whole = static_cast<std::size_t>((bytes + 63) / 64 * 64) + 2 * kZone;
    memory_.reset(static_cast<unsigned char*>(std::aligned_alloc(64, whole)));
    std::memset(memory_.get(), kPattern, whole);
    std::memset(memory_.get() + kZone, 0xFF, static_cast<std::size_t>(bytes));
  }
  std::byte* data() const { return reinterpret_cast<std::byte*>(memory_.get() + kZone); }
  std::int64_t bytes() const { return bytes_; }
  // The zones before and right after the bytes.
  bool intact() const {
    if (!memory_) {
      return true;
    }
    const auto same = [](const unsigned char* p) {
      return std::all_of(p, p + kZone, [](unsigned char c) { return c == kPattern; });
    };
    return same(memory_.get()) && same(memory_.get() + kZone + bytes_);
  }

 private:
  struct Free {
    void operator()(unsigned char* p) const { std::free(p); }
  };
  static constexpr std::size_t kZone = 256;
  static constexpr unsigned char kPattern = 0xA5;
  std::unique_ptr<unsigned char, Free> memory_;
  std::int64_t bytes_ = 0;
};

enum class Memory {
  kContiguous,  // (T, H, D), dense
  kFused,       // q, k, v are columns of one row, as a fused projection leaves them; out has spare
                // columns
  kHeadMajor,   // (H, T, D) seen as (T, H, D), one spare row a head
};

struct Case {
  AttentionHeads heads;
  std::vector<std::int64_t> q_lens{};
  std::vector<std::int64_t> k_lens{};  // empty: as q_lens
  AttentionOptions options{};
  DType dtype = DType::kF32;
  Memory memory = Memory::kContiguous;
  float gain = 1.0F;             // of q
  std::int64_t rows_beyond = 0;  // rows of q and k after the last sequence
  std::uint32_t seed = 1;
};

inline std::string text(const Case& c) {
  std::string out = std::to_string(c.heads.num_heads) + "/" + std::to_string(c.heads.num_kv_heads) +
                    "x" + std::to_string(c.heads.head_dim) + "/" +
                    std::to_string(c.heads.v_head_dim) + " " + std::string(dtype_name(c.dtype)) +
                    " seed " + std::to_string(c.seed) + " memory " +
                    std::to_string(static_cast<int>(c.memory)) + " q";
  for (const std::int64_t n : c.q_lens) {
    out += " " + std::to_string(n);
  }
  for (const std::int64_t n : c.k_lens) {
    out += (&n == c.k_lens.data() ? " k " : " ") + std::to_string(n);
  }
  return out;
}

inline float read(const ConstTensorView& t, std::int64_t element) {
  switch (t.dtype) {
    case DType::kF32:
      return t.as<float>()[element];
    case DType::kBF16:
      return bf16_to_f32(t.as<std::uint16_t>()[element]);
    default:
      return f16_to_f32(t.as<std::uint16_t>()[element]);
  }
}

inline void write(const TensorView& t, std::int64_t element, float x) {
  switch (t.dtype) {
    case DType::kF32:
      t.as<float>()[element] = x;
      break;
    case DType::kBF16:
      t.as<std::uint16_t>()[element] = f32_to_bf16(x);
      break;
    default:
      t.as<std::uint16_t>()[element] = f32_to_f16(x);
      break;
  }
}

inline std::int64_t at(const ConstTensorView& t, std::int64_t row, std::int64_t head,
                       std::int64_t col) {
  return row * t.strides[0].v + head * t.strides[1].v + col;
}

inline void fill_normal(const TensorView& t, std::int64_t rows, float gain, std::mt19937& random) {
  std::normal_distribution<float> normal(0.0F, gain);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t h = 0; h < t.shape[1]; ++h) {
      for (std::int64_t c = 0; c < t.shape[2]; ++c) {
        write(t, at(t, r, h, c), normal(random));
      }
    }
  }
}

// Inputs of one call. Rows past the last sequence and all gaps stay NaN.
class Inputs {
 public:
  explicit Inputs(const Case& c) : case_(c) {
    AttentionHeads& h = case_.heads;
    h.num_kv_heads = h.num_kv_heads == 0 ? h.num_heads : h.num_kv_heads;
    h.v_head_dim = h.v_head_dim == 0 ? h.head_dim : h.v_head_dim;
    if (case_.k_lens.empty()) {
      case_.k_lens = case_.q_lens;
    }
    const std::int64_t tq = sum(case_.q_lens);
    const std::int64_t tk = sum(case_.k_lens);
    const std::int64_t rows_q = tq + c.rows_beyond;
    const std::int64_t rows_k = tk + c.rows_beyond;
    const std::int64_t size = dtype_size(c.dtype).v;
    if (c.memory == Memory::kFused) {
      const std::int64_t q_cols = h.num_heads * h.head_dim;
      const std::int64_t k_cols = h.num_kv_heads * h.head_dim;
      const std::int64_t row = q_cols + k_cols + h.num_kv_heads * h.v_head_dim;
      buffers_.emplace_back(std::max(rows_q, rows_k) * row * size);
      std::byte* base = buffers_[0].data();
      q_ = strided(base, {rows_q, h.num_heads, h.head_dim}, row, h.head_dim);
      k_ = strided(base + q_cols * size, {rows_k, h.num_kv_heads, h.head_dim}, row, h.head_dim);
      v_ = strided(base + (q_cols + k_cols) * size, {rows_k, h.num_kv_heads, h.v_head_dim}, row,
                   h.v_head_dim);
    } else {
      q_ = own({rows_q, h.num_heads, h.head_dim});
      k_ = own({rows_k, h.num_kv_heads, h.head_dim});
      v_ = own({rows_k, h.num_kv_heads, h.v_head_dim});
    }
    std::mt19937 random(c.seed);
    fill_normal(q_, tq, c.gain, random);
    fill_normal(k_, tk, 1.0F, random);
    fill_normal(v_, tk, 1.0F, random);
    std::normal_distribution<float> normal(0.0F, 2.0F);
    if (c.options.sinks) {
      sinks_.resize(static_cast<std::size_t>(h.num_heads));
      std::generate(sinks_.begin(), sinks_.end(), [&] { return normal(random); });
    }
    if (c.options.bias) {
      bias_.resize(
          static_cast<std::size_t>(h.num_heads * longest(case_.q_lens) * longest(case_.k_lens)));
      std::generate(bias_.begin(), bias_.end(), [&] { return normal(random); });
    }
  }

  const Case& with() const { return case_; }
  const TensorView& q() const { return q_; }
  const TensorView& k() const { return k_; }
  const TensorView& v() const { return v_; }
  QkvView view() const {
    QkvView out{q_, k_, v_, std::nullopt, std::nullopt};
    if (case_.options.sinks) {
      out.sinks = ConstTensorView(sinks_.data(), DType::kF32, {case_.heads.num_heads});
    }
    if (case_.options.bias) {
      out.bias =
          ConstTensorView(bias_.data(), DType::kF32,
                          {case_.heads.num_heads, longest(case_.q_lens), longest(case_.k_lens)});
    }
    return out;
  }
  AttentionProblem problem() const {
    AttentionProblem p;
    p.heads = case_.heads;
    p.q_seqs = PackedSeqs::from_lengths(std::span<const std::int64_t>(case_.q_lens)).value();
    p.k_seqs = PackedSeqs::from_lengths(std::span<const std::int64_t>(case_.k_lens)).value();
    p.options = case_.options;
    p.dtype = case_.dtype;
    return p;
  }
  std::vector<float>& sinks() { return sinks_; }
  std::vector<float>& bias() { return bias_; }

  static std::int64_t sum(const std::vector<std::int64_t>& lens) {
    return std::accumulate(lens.begin(), lens.end(), std::int64_t{0});
  }
  static std::int64_t longest(const std::vector<std::int64_t>& lens) {
    return lens.empty() ? 0 : *std::max_element(lens.begin(), lens.end());
  }

 private:
  TensorView strided(std::byte* base, const Shape& shape, std::int64_t row,
                     std::int64_t head) const {
    Strides strides{};
    strides[0] = Elements(row);
    strides[1] = Elements(head);
    strides[2] = Elements(1);
    return {base, case_.dtype, shape, strides};
  }
  TensorView own(const Shape& shape) {
    const bool head_major = case_.memory == Memory::kHeadMajor;
    const std::int64_t rows = shape[0] + (head_major ? 1 : 0);
    buffers_.emplace_back(rows * shape[1] * shape[2] * dtype_size(case_.dtype).v);
    return head_major ? strided(buffers_.back().data(), shape, shape[2], rows * shape[2])
                      : strided(buffers_.back().data(), shape, shape[1] * shape[2], shape[2]);
  }

  Case case_;
  std::vector<Guarded> buffers_;
  TensorView q_;
  TensorView k_;
  TensorView v_;
  std::vector<float> sinks_;
  std::vector<float> bias_;
};

// out and lse of one call, and whether anything outside of them was written.
struct Outputs {
  Guarded out_memory;
  Guarded lse_memory;
  OutView view;
  bool guards_intact = true;

  explicit Outputs(const Case& c) {
    const std::int64_t rows = Inputs::sum(c.q_lens) + c.rows_beyond;
    const Shape shape{rows, c.heads.num_heads, c.heads.v_head_dim};
    const std::int64_t spare = c.memory == Memory::kFused ? 8 : 0;  // columns after the last head
    const std::int64_t row = shape[1] * shape[2] + spare;
    out_memory = Guarded(rows * row * dtype_size(c.dtype).v);
    Strides strides{};
    strides[0] = Elements(row);
    strides[1] = Elements(shape[2]);
    strides[2] = Elements(1);
    view.out = TensorView(out_memory.data(), c.dtype, shape, strides);
    if (c.options.lse == Lse::kYes) {
      lse_memory = Guarded(rows * shape[1] * 4);
      view.lse = TensorView(lse_memory.data(), DType::kF32, {shape[1], rows});
    }
  }
  // Guard zones, and the spare columns.
  bool untouched_outside() const {
    const TensorView& t = view.out;
    const std::int64_t size = dtype_size(t.dtype).v;
    for (std::int64_t r = 0; r < t.shape[0]; ++r) {
      const auto* row = t.as<unsigned char>() + r * t.strides[0].v * size;
      for (std::int64_t i = t.shape[1] * t.shape[2] * size; i < t.strides[0].v * size; ++i) {
        if (row[i] != 0xFF) {
          return false;
        }
      }
    }
    return guards_intact && out_memory.intact() && lse_memory.intact();
  }
  float out(std::int64_t row, std::int64_t head, std::int64_t col) const {
    return read(view.out, at(view.out, row, head, col));
  }
  float lse(std::int64_t head, std::int64_t row) const {
    return view.lse->as<float>()[head * view.lse->strides[0].v + row];
  }
};

inline Machine machine_with(CpuIsa isa, int threads) {
  Machine m;
  m.cpu = detect_cpu();
  m.isa = isa;
  m.threads = threads;
  return m;
}

inline Outputs run_plan(const AttentionPlan& plan, const Inputs& in, ThreadPool* pool) {
  Outputs out(in.with());
  const Guarded workspace(plan.workspace_size().v);
  StreamRef stream;
  stream.pool = pool;
  plan.run(in.view(), out.view, {workspace.data(), Bytes(workspace.bytes())}, stream).value();
  out.guards_intact = workspace.intact();
  return out;
}

inline AttentionPlan plan_on(std::string_view backend, const Inputs& in,
                             CpuIsa isa = CpuIsa::kGeneric, int threads = 1) {
  return make_plan(in.problem(), kBackends, machine_with(isa, threads), backend).value();
}

inline Outputs run_on(std::string_view backend, const Inputs& in, CpuIsa isa = CpuIsa::kGeneric) {
  return run_plan(plan_on(backend, in, isa), in, nullptr);
}

// How far float32 arithmetic may lead from the exact result of one query row.
//   logit: a product of head_dim terms and a few roundings around it: (head_dim + 8) u |scale| |q|
//   |k|,
//          where |q| |k| bounds the sum of the magnitudes; the bias and the softcap add a few u of
//          their size
//   weight: twice that (numerator and sum), the polynomial of the exponential (2e-7 a term), and
//   sums of blocks
//          of 64 terms, then of the blocks
//   out: the weights' error times the largest |v|; lse: that of the logit and of the sum, and
//   rounding
struct Bound {
  double out;
  double lse;
};

// Largest |k|^2 and |v| of the keys of one (sequence, head).
struct KeySizes {
  double k2 = 0;
  double v = 0;
};
inline KeySizes key_sizes(const Inputs& in, const AttentionProblem& p, std::int64_t b,
                          std::int64_t head) {
  const Sequence k = p.k_seqs[b];
  const std::int64_t kv_head = head / (p.heads.num_heads / p.heads.num_kv_heads);
  KeySizes out;
  for (std::int64_t j = k.begin.v; j < k.begin.v + k.length.v; ++j) {
    double k2 = 0;
    for (std::int64_t c = 0; c < p.heads.head_dim; ++c) {
      const auto x = static_cast<double>(read(in.k(), at(in.k(), j, kv_head, c)));
      k2 += x * x;
    }
    out.k2 = std::max(out.k2, k2);
    for (std::int64_t c = 0; c < p.heads.v_head_dim; ++c) {
      out.v =
          std::max(out.v, std::fabs(static_cast<double>(read(in.v(), at(in.v(), j, kv_head, c)))));
    }
  }
  return out;
}

inline Bound bound_for(const Inputs& in, const AttentionProblem& p, const KeySizes& keys,
                       std::int64_t len_k, std::int64_t row, std::int64_t head) {
  constexpr double kU = 0x1p-24;
  double q2 = 0;
  for (std::int64_t c = 0; c < p.heads.head_dim; ++c) {
    const auto x = static_cast<double>(read(in.q(), at(in.q(), row, head, c)));
    q2 += x * x;
  }
  double logit = (static_cast<double>(p.heads.head_dim) + 8) * kU *
                 std::fabs(static_cast<double>(p.softmax_scale())) * std::sqrt(q2 * keys.k2);
  logit += 16 * kU * static_cast<double>(p.options.softcap.value_or(0.0F));
  logit += p.options.bias ? 16 * kU * 10 : 0;
  const double sums = (64 + static_cast<double>(len_k) / 64 + 8) * kU + 2e-7;
  return {.out = (2 * logit + 2 * sums) * keys.v, .lse = logit + sums};
}

// Where `got` differs from `want`, which the reference made from the same inputs; empty where it
// does not.
inline std::string difference(const Inputs& in, const Outputs& got, const Outputs& want) {
  const AttentionProblem p = checked(in.problem()).value();
  // Both are rounded to the dtype: one unit in the last place between them, and the smallest step
  // near 0.
  const double ulp = p.dtype == DType::kF32 ? 0x1p-23 : p.dtype == DType::kBF16 ? 0x1p-7 : 0x1p-10;
  const double least = p.dtype == DType::kF16 ? 0x1p-24 : 0x1p-126;
  if (!got.untouched_outside()) {
    return text(in.with()) + ": something was written outside of the outputs";
  }
  const auto differs = [](double a, double b, double tolerance) {
    return a != b && !(std::fabs(a - b) <= tolerance);  // also true for NaN and for one infinity
  };
  const auto report = [&in](const char* what, std::array<std::int64_t, 3> place, double a, double w,
                            double bound) {
    return text(in.with()) + ": " + what + " of row " + std::to_string(place[0]) + ", head " +
           std::to_string(place[1]) + ", column " + std::to_string(place[2]) + " is " +
           std::to_string(a) + ", expected " + std::to_string(w) + " within " +
           std::to_string(bound);
  };
  for (std::int64_t b = 0; b < p.q_seqs.size(); ++b) {
    for (std::int64_t h = 0; h < p.heads.num_heads; ++h) {
      const KeySizes keys = key_sizes(in, p, b, h);
      for (std::int64_t i = 0; i < p.q_seqs[b].length.v; ++i) {
        const std::int64_t row = p.q_seqs[b].begin.v + i;
        const Bound bound = bound_for(in, p, keys, p.k_seqs[b].length.v, row, h);
        for (std::int64_t c = 0; c < p.heads.v_head_dim; ++c) {
          const auto a = static_cast<double>(got.out(row, h, c));
          const auto w = static_cast<double>(want.out(row, h, c));
          if (differs(a, w, bound.out + ulp * std::fabs(w) + least)) {
            return report("out", {row, h, c}, a, w, bound.out);
          }
        }
        if (p.options.lse == Lse::kYes) {
          const auto a = static_cast<double>(got.lse(h, row));
          const auto w = static_cast<double>(want.lse(h, row));
          if (differs(a, w, bound.lse + 4 * 0x1p-23 * std::fabs(w))) {
            return report("lse", {row, h, 0}, a, w, bound.lse);
          }
        }
      }
    }
  }
  const double none = -std::numeric_limits<double>::infinity();
  for (std::int64_t row = p.q_seqs.total_tokens().v; row < got.view.out.shape[0]; ++row) {
    for (std::int64_t h = 0; h < p.heads.num_heads; ++h) {
      for (std::int64_t c = 0; c < p.heads.v_head_dim; ++c) {
        if (got.out(row, h, c) != 0.0F) {
          return report("out past the last sequence", {row, h, c},
                        static_cast<double>(got.out(row, h, c)), 0, 0);
        }
      }
      if (p.options.lse == Lse::kYes && static_cast<double>(got.lse(h, row)) != none) {
        return report("lse past the last sequence", {row, h, 0},
                      static_cast<double>(got.lse(h, row)), none, 0);
      }
    }
  }
  return "";
}

}  // namespace foveal::test
