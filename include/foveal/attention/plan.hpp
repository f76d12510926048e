// The attention plan: one immutable decision made from the lengths, the heads and the options,
// outside the layer loop. It knows who serves it, who declined and why, and how much workspace a
// call needs; running it checks that the views fit and nothing more.
#pragma once

#include <foveal/attention/metadata.hpp>
#include <foveal/error.hpp>
#include <foveal/tensor_view.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foveal {

struct AttentionHeads {
  std::int64_t num_heads = 0;
  std::int64_t num_kv_heads = 0;  // 0: as num_heads
  std::int64_t head_dim = 0;
  std::int64_t v_head_dim = 0;  // 0: as head_dim
  friend bool operator==(const AttentionHeads&, const AttentionHeads&) = default;
};

enum class Causal : std::uint8_t {
  kNo,
  kYes
};  // yes: aligned to the end, query i stands at i + len_k - len_q
enum class Lse : std::uint8_t { kNo, kYes };
enum class RowsBeyond : std::uint8_t { kError, kZero };  // rows past the last sequence

struct AttentionOptions {
  std::optional<float> softmax_scale{};  // default 1/sqrt(head_dim)
  Causal causal = Causal::kNo;
  // Query at position p sees keys p - left .. p + right; absent = unbounded. Tokens.
  std::optional<Tokens> window_left{};
  std::optional<Tokens> window_right{};
  std::optional<float> softcap{};  // logits become softcap * tanh(logit / softcap)
  bool sinks = false;              // (num_heads) f32 logits that join the denominator only
  bool bias = false;               // (num_heads, max_q, max_k) f32 added to the scaled logits
  Lse lse = Lse::kNo;
  RowsBeyond rows_beyond = RowsBeyond::kError;
  friend bool operator==(const AttentionOptions&, const AttentionOptions&) = default;
};

// Everything that decides who can serve a call and how.
struct AttentionProblem {
  AttentionHeads heads;
  PackedSeqs q_seqs{};
  PackedSeqs k_seqs{};
  AttentionOptions options{};
  DType dtype = DType::kF32;  // of q, k, v and out
  Device device{};

  float softmax_scale() const;
  // Effective right limit: 0 for causal.
  std::optional<Tokens> window_right() const;
  // Useful multiply-adds times two: 2 * sum(len_q * len_k) * num_heads * (head_dim + v_head_dim).
  double flops() const;
};

// Fills defaults and checks heads, dims, options and sequence counts.
// HeadsInvalid, HeadDimInvalid, OptionInvalid, SequenceCountMismatch, DtypeUnsupported.
Result<AttentionProblem> checked(AttentionProblem problem);

struct Backend;      // src/attention/backend.hpp
struct BackendPlan;  // the same
struct Machine;      // the same
class ThreadPool;

struct Declined {
  std::string_view backend;
  std::string reason;
};

// q (Tq, num_heads, head_dim), k (Tk, num_kv_heads, head_dim), v (Tk, num_kv_heads, v_head_dim);
// last dimension contiguous, other strides free. sinks (num_heads) and bias (num_heads, max_q,
// max_k) f32, where the plan has them.
struct QkvView {
  ConstTensorView q;
  ConstTensorView k;
  ConstTensorView v;
  std::optional<ConstTensorView> sinks{};
  std::optional<ConstTensorView> bias{};
};

// out (Tq, num_heads, v_head_dim) in the problem's dtype; lse (num_heads, Tq) f32, natural log,
// where the plan has it.
struct OutView {
  TensorView out;
  std::optional<TensorView> lse{};
};

// Scratch of the caller: at least plan.workspace_size() bytes, 64-byte aligned; may be null where
// that is 0.
struct Workspace {
  std::byte* data = nullptr;
  Bytes size;
};

// Where a call runs: a thread pool on the CPU; a CUDA stream (cudaStream_t) with the CUDA backends.
struct StreamRef {
  ThreadPool* pool = nullptr;  // null: the calling thread alone
  void* cuda_stream = nullptr;
};

class AttentionPlan {
 public:
  const AttentionProblem& problem() const { return state_->problem; }
  std::string_view backend() const;
  std::string_view instance() const;  // e.g. "avx512/f32"
  const std::vector<Declined>& declined() const { return state_->declined; }
  Bytes workspace_size() const;
  // Lengths, cost, backend, who declined and why; several lines.
  std::string describe() const;

  // Checks that the views fit the plan, then runs. One plan may serve many threads at once, each
  // with its own workspace. Every row of out (and lse) is written. ShapeMismatch,
  // StrideUnsupported, DtypeMismatch, DeviceMismatch, TensorMissing, WorkspaceTooSmall.
  Status run(const QkvView& in, const OutView& out, Workspace workspace, StreamRef stream) const;

 private:
  friend Result<AttentionPlan> make_plan(AttentionProblem problem,
                                         std::span<const Backend> backends, const Machine& machine,
                                         std::string_view forced);
  struct State {
    AttentionProblem problem;
    const Backend* backend = nullptr;
    std::shared_ptr<const BackendPlan> backend_plan;
    std::vector<Declined> declined;
  };
  explicit AttentionPlan(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  Status check(const QkvView& in, const OutView& out, Workspace workspace) const;
  std::shared_ptr<const State> state_;
};

}  // namespace foveal
