// Plan: kernel, work list, scratch. Run: lanes take items from one counter; each lane has scratch
// of its own, so the workspace is bounded by the threads of the plan, whatever pool comes with the
// call.
#include "backends/cpu/cpu.hpp"

#include "backends/cpu/kernel_table.hpp"
#include "backends/cpu/work_list.hpp"
#include "base/thread_pool.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>

namespace foveal::cpu {
namespace {

struct IsaRow {
  CpuIsa least;  // the instruction set that the unit needs
  const KernelTable* table;
};

// Best first; the first one that Machine.isa covers runs.
constexpr std::array kTables {
#if defined(__x86_64__)
  IsaRow{CpuIsa::kAvx512, &kAvx512Table},
#endif
      IsaRow{CpuIsa::kGeneric, &kGenericTable},
};

const KernelTable& table_for(CpuIsa isa) {
  for (const IsaRow& row : kTables) {
    if (row.least <= isa) {
      return *row.table;
    }
  }
  return kGenericTable;
}

struct PlanState {
  const KernelTable* table = nullptr;
  std::vector<Item> items;
  std::int64_t lanes = 1;
  std::int64_t lane_bytes = 0;
};

Element element_of(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return Element::kF16;
    case DType::kBF16:
      return Element::kBF16;
    default:
      return Element::kF32;
  }
}

// Address of (row, head, 0).
template <class View>
auto address(const View& t, std::int64_t row, std::int64_t head) {
  const std::int64_t element = row * t.strides[0].v + head * t.strides[1].v;
  return t.template as<std::byte>() + element * dtype_size(t.dtype).v;
}

struct Call {
  const PlanState& state;
  const AttentionProblem& problem;
  const QkvView& in;
  const OutView& out;
};

// What is the same for all items of a call.
AttendArgs common_args(const Call& call) {
  const AttentionProblem& p = call.problem;
  const std::optional<Tokens> right = p.window_right();
  return {.q_row_stride = call.in.q.strides[0].v,
          .k_row_stride = call.in.k.strides[0].v,
          .v_row_stride = call.in.v.strides[0].v,
          .out_row_stride = call.out.out.strides[0].v,
          .bias_row_stride = call.in.bias ? call.in.bias->strides[1].v : 0,
          .head_dim = p.heads.head_dim,
          .v_head_dim = p.heads.v_head_dim,
          .window_left =
              p.options.window_left ? std::min(p.options.window_left->v, kUnbounded) : kUnbounded,
          .window_right = right ? std::min(right->v, kUnbounded) : kUnbounded,
          .softmax_scale = p.softmax_scale(),
          .softcap = p.options.softcap.value_or(0.0F),
          .element = element_of(p.dtype)};
}

// Points args at sequence b and a head.
void aim(const Call& call, std::int64_t b, std::int64_t head, AttendArgs& args) {
  const AttentionProblem& p = call.problem;
  const Sequence q = p.q_seqs[b];
  const Sequence k = p.k_seqs[b];
  const std::int64_t kv_head = head / (p.heads.num_heads / p.heads.num_kv_heads);
  args.len_q = q.length.v;
  args.len_k = k.length.v;
  args.q = address(call.in.q, q.begin.v, head);
  const bool any = k.length.v > 0;  // else k, v and bias may be null
  args.k = any ? address(call.in.k, k.begin.v, kv_head) : nullptr;
  args.v = any ? address(call.in.v, k.begin.v, kv_head) : nullptr;
  args.out = address(call.out.out, q.begin.v, head);
  if (p.options.lse == Lse::kYes) {
    args.lse = call.out.lse->as<float>() + head * call.out.lse->strides[0].v + q.begin.v;
  }
  args.bias = p.options.bias && any ? call.in.bias->as<float>() + head * call.in.bias->strides[0].v
                                    : nullptr;
  if (p.options.sinks) {
    args.sink = call.in.sinks->as<float>() + head;
  }
}

// The (sequence, head) pairs of an item, in the order in which they are attended: heads of a
// sequence together.
std::int64_t pairs(const Item& item) {
  return std::int64_t{item.seq_end - item.seq_begin} * (item.head_end - item.head_begin);
}
void aim_at_pair(const Call& call, const Item& item, std::int64_t pair, AttendArgs& args) {
  const std::int64_t heads = item.head_end - item.head_begin;
  aim(call, item.seq_begin + pair / heads, item.head_begin + pair % heads, args);
  args.row_begin = item.row_begin;
  args.row_end = item.row_end == 0 ? args.len_q : item.row_end;
}

// then: the item that this lane is likely to take next; may be null.
void attend_item(const Call& call, const Item& item, const Item* then, void* scratch) {
  AttendArgs args = common_args(call);
  AttendArgs next = args;
  aim_at_pair(call, item, 0, next);
  const std::int64_t count = pairs(item);
  for (std::int64_t i = 0; i < count; ++i) {
    args = next;
    NextRows hint;
    const bool last = i + 1 == count;
    if (!last || then != nullptr) {
      aim_at_pair(call, last ? *then : item, last ? 0 : i + 1, next);
      hint = {.q = next.q, .k = next.k, .v = next.v, .len_q = next.len_q, .len_k = next.len_k};
    }
    if (args.row_begin < args.row_end) {
      call.state.table->attend(args, hint, scratch);
    }
  }
}

void zero_rows_beyond(const AttentionProblem& p, const OutView& out) {
  const auto bytes = static_cast<std::size_t>(p.heads.v_head_dim * dtype_size(p.dtype).v);
  for (std::int64_t row = p.q_seqs.total_tokens().v; row < out.out.shape[0]; ++row) {
    for (std::int64_t head = 0; head < p.heads.num_heads; ++head) {
      std::memset(address(out.out, row, head), 0, bytes);
      if (p.options.lse == Lse::kYes) {
        out.lse->as<float>()[head * out.lse->strides[0].v + row] =
            -std::numeric_limits<float>::infinity();
      }
    }
  }
}

}  // namespace

Reason decline(const AttentionProblem& problem, const Machine& /*machine*/) {
  return problem.device.kind == DeviceKind::kCpu ? ""
                                                 : "it runs on the CPU, the tensors are on a GPU";
}

Result<BackendPlan> plan(const AttentionProblem& problem, const Machine& machine) {
  auto state = std::make_shared<PlanState>();
  state->table = &table_for(machine.isa);
  const std::int64_t threads = std::max(machine.threads, 1);
  state->items =
      make_work_list(problem, {.threads = threads, .tile_rows = state->table->tile_rows});
  state->lanes = std::min(threads, static_cast<std::int64_t>(state->items.size()));
  const std::int64_t scratch =
      state->table->scratch_bytes({.head_dim = problem.heads.head_dim,
                                   .v_head_dim = problem.heads.v_head_dim,
                                   .max_len_k = problem.k_seqs.max_seqlen().v,
                                   .biases = problem.options.bias ? 1 : 0});
  state->lane_bytes = (scratch + 63) / 64 * 64;
  BackendPlan plan{
      .instance = std::string(state->table->name) + "/" + std::string(dtype_name(problem.dtype)),
      .workspace = Bytes(state->lanes * state->lane_bytes),
      .note = std::to_string(state->items.size()) + " items on " + std::to_string(state->lanes) +
              " lanes",
      .state = nullptr};
  plan.state = std::move(state);
  return plan;
}

Status run(const BackendPlan& plan, const AttentionProblem& problem, const QkvView& in,
           const OutView& out, Workspace workspace, StreamRef stream) {
  const auto& state = *static_cast<const PlanState*>(plan.state.get());
  const Call call{state, problem, in, out};
  const auto count = static_cast<std::int64_t>(state.items.size());
  std::atomic<std::int64_t> next{0};
  const auto lane = [&](std::int64_t index) {
    std::byte* scratch = workspace.data + index * state.lane_bytes;
    for (std::int64_t i = next.fetch_add(1, std::memory_order_relaxed); i < count;
         i = next.fetch_add(1, std::memory_order_relaxed)) {
      // The other lanes take one each before this one comes back, where items are alike.
      const std::int64_t then = i + state.lanes;
      attend_item(call, state.items[static_cast<std::size_t>(i)],
                  then < count ? &state.items[static_cast<std::size_t>(then)] : nullptr, scratch);
    }
  };
  if (stream.pool != nullptr && state.lanes > 1) {
    stream.pool->run(state.lanes, [&lane](std::int64_t index, int /*worker*/) { lane(index); });
  } else if (state.lanes > 0) {
    lane(0);
  }
  zero_rows_beyond(problem, out);
  return {};
}

}  // namespace foveal::cpu
