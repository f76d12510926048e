// Selection of a backend, the checks of a call, and describe().
#include <foveal/attention/plan.hpp>

#include "attention/backend.hpp"

#include <algorithm>
#include <cstdio>

namespace foveal {
namespace {

std::string device_text(Device d) {
  return d.kind == DeviceKind::kCpu ? "cpu" : "cuda:" + std::to_string(d.index);
}

std::string strides_text(const ConstTensorView& v) {
  std::string out = "(";
  for (int i = 0; i < v.shape.rank(); ++i) {
    out += (i == 0 ? "" : ", ") + std::to_string(v.strides[static_cast<std::size_t>(i)].v);
  }
  return out + ")";
}

struct Expected {
  std::string_view name;
  Shape shape;
  DType dtype;
  Device device;
};

Status check_view(const ConstTensorView& v, const Expected& want) {
  if (v.shape != want.shape) {
    return Error(ErrorCode::kShapeMismatch,
                 {{"tensor", want.name}, {"got", v.shape.text()}, {"expected", want.shape.text()}});
  }
  if (v.dtype != want.dtype) {
    return Error(ErrorCode::kDtypeMismatch, {{"tensor", want.name},
                                             {"got", dtype_name(v.dtype)},
                                             {"other", "the plan"},
                                             {"expected", dtype_name(want.dtype)}});
  }
  if (v.device != want.device) {
    return Error(ErrorCode::kDeviceMismatch, {{"tensor", want.name},
                                              {"got", device_text(v.device)},
                                              {"expected", device_text(want.device)}});
  }
  const auto last = static_cast<std::size_t>(v.shape.rank() - 1);
  if (v.shape[v.shape.rank() - 1] > 1 && v.strides[last].v != 1) {
    return Error(ErrorCode::kStrideUnsupported,
                 {{"tensor", want.name}, {"strides", strides_text(v)}});
  }
  if (v.data == nullptr && v.numel() > 0) {
    return Error(ErrorCode::kTensorMissing,
                 {{"tensor", want.name},
                  {"where", "the call (its pointer is null)"},
                  {"expected", "pass the data of " + std::string(want.name)}});
  }
  return {};
}

Error missing(std::string_view tensor, std::string_view option) {
  return Error(ErrorCode::kTensorMissing,
               {{"tensor", tensor},
                {"where", "the call"},
                {"expected", "the plan was made with " + std::string(option) + ": pass " +
                                 std::string(tensor)}});
}

// Rows of the tensor against the rows of the sequences: equal, or more where rows_beyond says so.
Status check_rows(const ConstTensorView& v, std::string_view name, const PackedSeqs& seqs,
                  RowsBeyond beyond) {
  const std::int64_t rows = v.shape.rank() == 3 ? v.shape[0] : -1;
  const std::int64_t last = seqs.total_tokens().v;
  if (rows < 0 || rows == last || (rows > last && beyond == RowsBeyond::kZero)) {
    return {};  // a wrong rank is a ShapeMismatch
  }
  return Error(ErrorCode::kCuSeqlensEnd, {{"last", last}, {"rows", rows}, {"tensor", name}});
}

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

std::string lengths_text(const PackedSeqs& seqs) {
  constexpr std::int64_t kShown = 8;
  std::string out = std::to_string(seqs.size()) + " sequences, " +
                    std::to_string(seqs.total_tokens().v) + " tokens, longest " +
                    std::to_string(seqs.max_seqlen().v) + " [";
  for (std::int64_t i = 0; i < std::min(seqs.size(), kShown); ++i) {
    out += (i == 0 ? "" : ", ") + std::to_string(seqs[i].length.v);
  }
  return out + (seqs.size() > kShown ? ", ...]" : "]");
}

std::string options_text(const AttentionProblem& p) {
  const AttentionOptions& o = p.options;
  std::string out = "softmax_scale " + number(static_cast<double>(p.softmax_scale()));
  const auto add = [&out](const std::string& text) { out += ", " + text; };
  if (o.causal == Causal::kYes) {
    add("causal");
  }
  if (o.window_left) {
    add("window_left " + std::to_string(o.window_left->v));
  }
  if (o.window_right) {
    add("window_right " + std::to_string(o.window_right->v));
  }
  if (o.softcap) {
    add("softcap " + number(static_cast<double>(*o.softcap)));
  }
  for (const auto& [on, name] :
       {std::pair{o.sinks, "sinks"}, std::pair{o.bias, "bias"},
        std::pair{o.lse == Lse::kYes, "lse"},
        std::pair{o.rows_beyond == RowsBeyond::kZero, "rows_beyond zero"}}) {
    if (on) {
      add(name);
    }
  }
  return out;
}

}  // namespace

Result<AttentionPlan> make_plan(AttentionProblem problem, std::span<const Backend> backends,
                                const Machine& machine, std::string_view forced) {
  auto state = std::make_shared<AttentionPlan::State>();
  FOVEAL_TRY(state->problem, checked(std::move(problem)));
  const bool any = forced.empty() || forced == "auto";
  std::string known;
  for (const Backend& backend : backends) {
    known += (known.empty() ? "" : ", ") + std::string(backend.name);
    if (!any && backend.name != forced) {
      continue;
    }
    Reason reason = backend.decline(state->problem, machine);
    if (reason.empty()) {
      FOVEAL_TRY(BackendPlan plan, backend.plan(state->problem, machine));
      state->backend = &backend;
      state->backend_plan = std::make_shared<const BackendPlan>(std::move(plan));
      return AttentionPlan(std::move(state));
    }
    if (!any) {
      return Error(ErrorCode::kBackendDeclined, {{"backend", forced}, {"reason", reason}});
    }
    state->declined.push_back({backend.name, std::move(reason)});
  }
  if (!any) {
    return Error(ErrorCode::kBackendUnknown, {{"backend", forced}, {"known", known}});
  }
  std::string reasons;
  for (const Declined& d : state->declined) {
    reasons += (reasons.empty() ? "" : "; ") + std::string(d.backend) + ": " + d.reason;
  }
  return Error(ErrorCode::kNoBackend, {{"reasons", reasons}});
}

std::string_view AttentionPlan::backend() const {
  return state_->backend->name;
}
std::string_view AttentionPlan::instance() const {
  return state_->backend_plan->instance;
}
Bytes AttentionPlan::workspace_size() const {
  return state_->backend_plan->workspace;
}

Status AttentionPlan::check(const QkvView& in, const OutView& out, Workspace workspace) const {
  const AttentionProblem& p = state_->problem;
  const AttentionHeads& h = p.heads;
  const RowsBeyond beyond = p.options.rows_beyond;
  FOVEAL_TRY_STATUS(check_rows(in.q, "q", p.q_seqs, beyond));
  FOVEAL_TRY_STATUS(check_rows(in.k, "k", p.k_seqs, beyond));
  const auto rows = [beyond](const ConstTensorView& v, const PackedSeqs& seqs) {
    return beyond == RowsBeyond::kZero && v.shape.rank() == 3 ? v.shape[0] : seqs.total_tokens().v;
  };
  const std::int64_t tq = rows(in.q, p.q_seqs);
  const std::int64_t tk = rows(in.k, p.k_seqs);
  FOVEAL_TRY_STATUS(check_view(in.q, {"q", {tq, h.num_heads, h.head_dim}, p.dtype, p.device}));
  FOVEAL_TRY_STATUS(check_view(in.k, {"k", {tk, h.num_kv_heads, h.head_dim}, p.dtype, p.device}));
  FOVEAL_TRY_STATUS(check_view(in.v, {"v", {tk, h.num_kv_heads, h.v_head_dim}, p.dtype, p.device}));
  FOVEAL_TRY_STATUS(
      check_view(out.out, {"out", {tq, h.num_heads, h.v_head_dim}, p.dtype, p.device}));
  if (p.options.sinks) {
    if (!in.sinks) {
      return missing("sinks", "sinks");
    }
    FOVEAL_TRY_STATUS(check_view(*in.sinks, {"sinks", {h.num_heads}, DType::kF32, p.device}));
  }
  if (p.options.bias) {
    if (!in.bias) {
      return missing("bias", "bias");
    }
    FOVEAL_TRY_STATUS(
        check_view(*in.bias, {"bias",
                              {h.num_heads, p.q_seqs.max_seqlen().v, p.k_seqs.max_seqlen().v},
                              DType::kF32,
                              p.device}));
  }
  if (p.options.lse == Lse::kYes) {
    if (!out.lse) {
      return missing("lse", "lse");
    }
    FOVEAL_TRY_STATUS(check_view(*out.lse, {"lse", {h.num_heads, tq}, DType::kF32, p.device}));
  }
  if (workspace.size < workspace_size() || (workspace.data == nullptr && workspace_size().v > 0)) {
    return Error(ErrorCode::kWorkspaceTooSmall,
                 {{"got", workspace.data == nullptr ? 0 : workspace.size.v},
                  {"expected", workspace_size().v}});
  }
  return {};
}

Status AttentionPlan::run(const QkvView& in, const OutView& out, Workspace workspace,
                          StreamRef stream) const {
  FOVEAL_TRY_STATUS(check(in, out, workspace));
  return state_->backend->run(*state_->backend_plan, state_->problem, in, out, workspace, stream);
}

std::string AttentionPlan::describe() const {
  const AttentionProblem& p = state_->problem;
  const AttentionHeads& h = p.heads;
  std::string out = "q: " + lengths_text(p.q_seqs) + "\n";
  if (!(p.q_seqs == p.k_seqs)) {
    out += "k: " + lengths_text(p.k_seqs) + "\n";
  }
  out += "heads: " + std::to_string(h.num_heads) + " x " + std::to_string(h.head_dim);
  if (h.num_kv_heads != h.num_heads || h.v_head_dim != h.head_dim) {
    out += ", kv " + std::to_string(h.num_kv_heads) + " x " + std::to_string(h.v_head_dim);
  }
  out += " " + std::string(dtype_name(p.dtype)) + " on " + device_text(p.device) + "\n";
  out += "options: " + options_text(p) + "\n";
  out += "cost: " + number(p.flops() / 1e9) + " GFLOP\n";
  out += "backend: " + std::string(backend()) + " (" + std::string(instance()) + "), workspace " +
         std::to_string(workspace_size().v) + " bytes\n";
  if (!state_->backend_plan->note.empty()) {
    out += "note: " + state_->backend_plan->note + "\n";
  }
  for (const Declined& d : state_->declined) {
    out += "declined: " + std::string(d.backend) + ": " + d.reason + "\n";
  }
  return out;
}

}  // namespace foveal
