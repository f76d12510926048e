// What a process shares: the thread pool, the instruction set in force, the attention backends.
// Make one and pass it; there is no global. Plans made from a context do not outlive it.
#pragma once

#include <foveal/attention/plan.hpp>
#include <foveal/error.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foveal {

struct ContextOptions {
  int threads = 0;        // 0: as many as this process may use
  std::string cpu_isa{};  // empty or "auto": the best; "generic", "avx2", "avx512", "amx"
  std::string backend{};  // attention backend; empty or "auto": the best that does not decline
};

struct BackendStatus {
  std::string_view name;
  std::string reason;  // empty: it serves a plain f32 self-attention problem here; else why not
};

class Context {
 public:
  // CpuIsaUnavailable, BackendUnknown, OptionInvalid (threads).
  static Result<Context> create(const ContextOptions& options = {});
  Context(Context&&) noexcept;
  Context& operator=(Context&&) noexcept;
  ~Context();

  int threads() const;
  std::string_view cpu_isa() const;  // in force
  std::string_view cpu_model() const;
  std::vector<std::string_view> cpu_isas() const;  // what this machine has
  std::vector<BackendStatus> backends() const;     // best first

  // backend: overrides the context's choice where not empty. See make_plan for the errors.
  Result<AttentionPlan> plan(AttentionProblem problem, std::string_view backend = {}) const;
  // Runs with workspace of the context's own. What AttentionPlan::run checks, and OutOfMemory.
  Status attention(const AttentionPlan& plan, const QkvView& in, const OutView& out) const;

  struct State;
  const State& state() const { return *state_; }  // for the library itself

 private:
  explicit Context(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace foveal
