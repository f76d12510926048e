// out[i] = sum_j softmax(scale * q_i . k_j (+ bias, sink)) v_j, a row at a time, all sums in
// double. q (Tq, num_heads, head_dim), k (Tk, num_kv_heads, head_dim), v (Tk, num_kv_heads,
// v_head_dim).
#include "backends/reference/reference.hpp"

#include "base/half.hpp"
#include "base/thread_pool.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>

namespace foveal::reference {
namespace {

double load(const ConstTensorView& t, std::int64_t element) {
  switch (t.dtype) {
    case DType::kF32:
      return static_cast<double>(t.as<float>()[element]);
    case DType::kBF16:
      return static_cast<double>(bf16_to_f32(t.as<std::uint16_t>()[element]));
    default:
      return static_cast<double>(f16_to_f32(t.as<std::uint16_t>()[element]));
  }
}

void store(const TensorView& t, std::int64_t element, double value) {
  const auto rounded = static_cast<float>(value);
  switch (t.dtype) {
    case DType::kF32:
      t.as<float>()[element] = rounded;
      break;
    case DType::kBF16:
      t.as<std::uint16_t>()[element] = f32_to_bf16(rounded);
      break;
    default:
      t.as<std::uint16_t>()[element] = f32_to_f16(rounded);
      break;
  }
}

// Element offset of (row, head, 0).
template <class View>
std::int64_t at(const View& t, std::int64_t row, std::int64_t head) {
  return row * t.strides[0].v + head * t.strides[1].v;
}

struct Lanes {
  std::int64_t count = 0;
  std::int64_t scores = 0;  // doubles a lane
};

struct Call {
  const AttentionProblem& problem;
  const QkvView& in;
  const OutView& out;
};

void zero_row(const Call& call, std::int64_t row, std::int64_t head) {
  for (std::int64_t d = 0; d < call.problem.heads.v_head_dim; ++d) {
    store(call.out.out, at(call.out.out, row, head) + d, 0.0);
  }
}

void write_lse(const Call& call, std::int64_t row, std::int64_t head, double value) {
  if (call.problem.options.lse == Lse::kYes) {
    const TensorView& lse = *call.out.lse;
    store(lse, head * lse.strides[0].v + row * lse.strides[1].v, value);
  }
}

// Query i of sequence b, one head. `scores` has room for the keys of the sequence.
void attend_row(const Call& call, std::int64_t b, std::int64_t i, std::int64_t head,
                double* scores) {
  const AttentionProblem& p = call.problem;
  const Sequence q = p.q_seqs[b];
  const Sequence k = p.k_seqs[b];
  const std::int64_t kv_head = head / (p.heads.num_heads / p.heads.num_kv_heads);
  const std::int64_t position = i + k.length.v - q.length.v;
  // A limit may be any number: past this it is as good as none, and the sums below cannot overflow.
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  const std::int64_t first =
      p.options.window_left
          ? std::max<std::int64_t>(0, position - std::min(p.options.window_left->v, kFar))
          : 0;
  const auto right = p.window_right();
  const std::int64_t last =
      right ? std::min(k.length.v, position + std::min(right->v, kFar) + 1) : k.length.v;
  const double scale = static_cast<double>(p.softmax_scale());
  constexpr double kNone = -std::numeric_limits<double>::infinity();

  double max = kNone;
  const std::int64_t q_row = at(call.in.q, q.begin.v + i, head);
  for (std::int64_t j = first; j < last; ++j) {
    const std::int64_t k_row = at(call.in.k, k.begin.v + j, kv_head);
    double dot = 0;
    for (std::int64_t d = 0; d < p.heads.head_dim; ++d) {
      dot += load(call.in.q, q_row + d) * load(call.in.k, k_row + d);
    }
    double logit = scale * dot;
    if (p.options.softcap) {
      const auto cap = static_cast<double>(*p.options.softcap);
      logit = cap * std::tanh(logit / cap);
    }
    if (p.options.bias) {
      const ConstTensorView& bias = *call.in.bias;
      logit += load(bias, head * bias.strides[0].v + i * bias.strides[1].v + j);
    }
    scores[j] = logit;
    max = std::max(max, logit);
  }
  const double sink = p.options.sinks ? load(*call.in.sinks, head) : kNone;
  max = std::max(max, sink);
  const double shift = max > kNone ? max : 0.0;  // -inf - -inf would be NaN

  double sum = std::exp(sink - shift);
  for (std::int64_t j = first; j < last; ++j) {
    double& s = scores[j];
    s = std::exp(s - shift);
    sum += s;
  }
  write_lse(call, q.begin.v + i, head, sum == 0 ? kNone : shift + std::log(sum));
  if (first >= last || sum == 0) {  // no key, or a bias of -inf on all of them
    zero_row(call, q.begin.v + i, head);
    return;
  }
  for (std::int64_t d = 0; d < p.heads.v_head_dim; ++d) {
    double acc = 0;
    for (std::int64_t j = first; j < last; ++j) {
      acc += scores[j] * load(call.in.v, at(call.in.v, k.begin.v + j, kv_head) + d);
    }
    store(call.out.out, at(call.out.out, q.begin.v + i, head) + d, acc / sum);
  }
}

}  // namespace

Reason decline(const AttentionProblem& problem, const Machine& /*machine*/) {
  return problem.device.kind == DeviceKind::kCpu ? ""
                                                 : "it runs on the CPU, the tensors are on a GPU";
}

// A lane is a thread with a row of scores of its own, linear in the longest sequence.
Result<BackendPlan> plan(const AttentionProblem& problem, const Machine& machine) {
  auto state = std::make_shared<Lanes>();
  const std::int64_t tasks = problem.q_seqs.size() * problem.heads.num_heads;
  state->count = std::min<std::int64_t>(std::max(machine.threads, 1), tasks);
  state->scores = problem.k_seqs.max_seqlen().v;
  const Bytes workspace(state->count * state->scores * static_cast<std::int64_t>(sizeof(double)));
  return BackendPlan{
      .instance = "double", .workspace = workspace, .note = "", .state = std::move(state)};
}

Status run(const BackendPlan& plan, const AttentionProblem& problem, const QkvView& in,
           const OutView& out, Workspace workspace, StreamRef stream) {
  const auto& lanes = *static_cast<const Lanes*>(plan.state.get());
  const Call call{problem, in, out};
  const std::int64_t heads = problem.heads.num_heads;
  const std::int64_t tasks = problem.q_seqs.size() * heads;
  std::atomic<std::int64_t> next{0};
  const auto lane = [&](std::int64_t index, int /*worker*/) {
    double* scores = reinterpret_cast<double*>(workspace.data) + index * lanes.scores;
    for (std::int64_t t = next.fetch_add(1); t < tasks; t = next.fetch_add(1)) {
      for (std::int64_t i = 0; i < problem.q_seqs[t / heads].length.v; ++i) {
        attend_row(call, t / heads, i, t % heads, scores);
      }
    }
  };
  if (stream.pool != nullptr) {
    stream.pool->run(lanes.count, lane);
  } else if (lanes.count > 0) {
    lane(0, 0);
  }
  for (std::int64_t row = problem.q_seqs.total_tokens().v; row < out.out.shape[0]; ++row) {
    for (std::int64_t head = 0; head < heads; ++head) {
      zero_row(call, row, head);
      write_lse(call, row, head, -std::numeric_limits<double>::infinity());
    }
  }
  return {};
}

}  // namespace foveal::reference
