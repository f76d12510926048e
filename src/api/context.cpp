// Context: what a process shares. The table of backends is named here and nowhere else.
#include <foveal/context.hpp>

#include "api/context_state.hpp"
#include "backends/registry.hpp"
#include "base/guarded.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace foveal {
namespace {

constexpr int kMaxThreads =
    1024;  // the largest hosts have 768 hardware threads; more is a typing error

Status check_backend(std::string_view name) {
  if (name.empty() || name == "auto") {
    return {};
  }
  std::string known;
  for (const Backend& backend : kBackends) {
    if (backend.name == name) {
      return {};
    }
    known += (known.empty() ? "" : ", ") + std::string(backend.name);
  }
  return Error(ErrorCode::kBackendUnknown, {{"backend", name}, {"known", known}});
}

}  // namespace

Context::Context(std::unique_ptr<State> state) : state_(std::move(state)) {}
Context::Context(Context&&) noexcept = default;
Context& Context::operator=(Context&&) noexcept = default;
Context::~Context() = default;

Result<Context> Context::create(const ContextOptions& options) {
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return Error(ErrorCode::kOptionInvalid,
                 {{"option", "threads"},
                  {"value", std::to_string(options.threads)},
                  {"expected", "threads is 0 (as many as this process may use) to " +
                                   std::to_string(kMaxThreads)}});
  }
  FOVEAL_TRY_STATUS(check_backend(options.backend));
  Machine machine;
  machine.cpu = detect_cpu();
  FOVEAL_TRY(machine.isa, choose_isa(machine.cpu, options.cpu_isa));
  machine.threads = options.threads > 0 ? options.threads : ThreadPool::usable_cpus();
  return guarded("the thread pool", [&]() -> Result<Context> {
    auto state = std::make_unique<State>(machine.threads);
    state->machine = std::move(machine);
    state->machine.threads = state->pool.size();  // what could be had
    state->backend = options.backend;
    state->backends = kBackends;
    return Context(std::move(state));
  });
}

int Context::threads() const {
  return state_->machine.threads;
}
std::string_view Context::cpu_isa() const {
  return isa_name(state_->machine.isa);
}
std::string_view Context::cpu_model() const {
  return state_->machine.cpu.model;
}

std::vector<std::string_view> Context::cpu_isas() const {
  std::vector<std::string_view> out;
  for (const CpuIsa isa : state_->machine.cpu.available()) {
    out.push_back(isa_name(isa));
  }
  return out;
}

std::vector<BackendStatus> Context::backends() const {
  constexpr std::array<std::int64_t, 2> kLengths{256,
                                                 576};  // pictures of 16 x 16 and 24 x 24 patches
  AttentionProblem problem{.heads = {.num_heads = 12, .head_dim = 64},
                           .q_seqs = {},
                           .k_seqs = {},
                           .options = {},
                           .dtype = DType::kF32,
                           .device = {}};
  if (auto seqs = PackedSeqs::from_lengths(std::span<const std::int64_t>(kLengths))) {
    problem.q_seqs = problem.k_seqs = *seqs;
  }
  std::vector<BackendStatus> out;
  const auto plain = checked(problem);
  for (const Backend& backend : state_->backends) {
    out.push_back(
        {backend.name, plain ? backend.decline(*plain, state_->machine) : plain.error().message()});
  }
  return out;
}

Result<AttentionPlan> Context::plan(AttentionProblem problem, std::string_view backend) const {
  return make_plan(std::move(problem), state_->backends, state_->machine,
                   backend.empty() ? std::string_view(state_->backend) : backend);
}

Status Context::attention(const AttentionPlan& plan, const QkvView& in, const OutView& out) const {
  FOVEAL_TRY(WorkspacePool::Loan loan, state_->workspaces.lend(plan.workspace_size()));
  return plan.run(in, out, loan.workspace(), {.pool = &state_->pool, .cuda_stream = nullptr});
}

}  // namespace foveal
