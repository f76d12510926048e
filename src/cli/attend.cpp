// foveal attend: runs one attention case from a safetensors file and writes out and lse in float32.
#include "cli/choices.hpp"
#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "io/attention_case.hpp"
#include "io/file.hpp"

#include <foveal/attention/plan.hpp>
#include <foveal/context.hpp>

#include <memory>
#include <utility>

namespace foveal::cli {
namespace {

struct AttendArguments {
  std::string in;
  std::string out;
  std::string backend = "auto";
  std::string dtype = "auto";
  std::string cpu_isa = "auto";
  int threads = 0;
  bool json = false;
};

Result<std::optional<DType>> case_dtype(const std::string& text) {
  FOVEAL_TRY(const ComputeDType dtype, parse_dtype(text));
  switch (dtype) {
    case ComputeDType::kF32:
      return std::optional(DType::kF32);
    case ComputeDType::kBF16:
      return std::optional(DType::kBF16);
    case ComputeDType::kF16:
      return std::optional(DType::kF16);
    case ComputeDType::kAuto:
      break;
  }
  return std::optional<DType>();  // as the file has it
}

Result<AttentionProblem> problem_of(const io::AttentionCase& c) {
  AttentionProblem problem;
  problem.heads = {.num_heads = c.q.shape()[1],
                   .num_kv_heads = c.k.shape()[1],
                   .head_dim = c.q.shape()[2],
                   .v_head_dim = c.v.shape()[2]};
  FOVEAL_TRY(problem.q_seqs,
             PackedSeqs::from_cu_seqlens(std::span<const std::int64_t>(c.cu_seqlens_q)));
  FOVEAL_TRY(problem.k_seqs,
             PackedSeqs::from_cu_seqlens(std::span<const std::int64_t>(c.cu_seqlens_k)));
  problem.dtype = c.q.dtype();
  AttentionOptions& options = problem.options;
  options.softmax_scale = c.scale;
  options.causal = c.causal ? Causal::kYes : Causal::kNo;
  if (c.window_left) {
    options.window_left = Tokens(*c.window_left);
  }
  if (c.window_right) {
    options.window_right = Tokens(*c.window_right);
  }
  options.softcap = c.softcap;
  options.sinks = c.sinks.has_value();
  options.bias = c.bias.has_value();
  options.lse = Lse::kYes;
  return problem;
}

Status attend(const AttendArguments& arguments, const io::AttentionCase& c,
              const Context& context) {
  FOVEAL_TRY(AttentionProblem problem, problem_of(c));
  FOVEAL_TRY(const AttentionPlan plan, context.plan(std::move(problem)));
  const Shape out_shape{c.q.shape()[0], c.q.shape()[1], c.v.shape()[2]};
  FOVEAL_TRY(Tensor out, Tensor::allocate(c.q.dtype(), out_shape, "out"));
  FOVEAL_TRY(Tensor lse,
             Tensor::allocate(DType::kF32, Shape{c.q.shape()[1], c.q.shape()[0]}, "lse"));
  QkvView in{.q = c.q.view(),
             .k = c.k.view(),
             .v = c.v.view(),
             .sinks = std::nullopt,
             .bias = std::nullopt};
  if (c.sinks) {
    in.sinks = c.sinks->view();
  }
  if (c.bias) {
    in.bias = c.bias->view();
  }
  FOVEAL_TRY_STATUS(context.attention(plan, in, {.out = out.view(), .lse = lse.view()}));
  FOVEAL_TRY(const Tensor wide, io::as_f32(out));
  const std::array<io::NamedTensor, 2> tensors{
      {{"out", wide.view()}, {"lse", std::as_const(lse).view()}}};
  FOVEAL_TRY_STATUS(io::write_tensors(arguments.out, tensors));
  if (!arguments.json) {
    return print(plan.describe());
  }
  Json declined = Json::array();
  for (const Declined& d : plan.declined()) {
    declined.push_back({{"backend", std::string(d.backend)}, {"reason", d.reason}});
  }
  return print(io::dump({{"backend", std::string(plan.backend())},
                         {"instance", std::string(plan.instance())},
                         {"declined", std::move(declined)},
                         {"workspace_bytes", plan.workspace_size().v},
                         {"output", arguments.out}}) +
               "\n");
}

int run_attend(const AttendArguments& arguments, Console& console) {
  if (arguments.json) {
    console.use_json();
  }
  const auto dtype = case_dtype(arguments.dtype);
  if (!dtype) {
    return console.fail(dtype.error());
  }
  const auto checked = io::output_target(arguments.out);
  if (!checked) {
    return console.fail(checked.error());
  }
  ContextOptions options;
  options.threads = arguments.threads;
  options.backend = arguments.backend;
  options.cpu_isa = arguments.cpu_isa;
  const auto context = Context::create(options);
  if (!context) {
    return console.fail(context.error());
  }
  const auto attention_case = io::read_attention_case(arguments.in, *dtype);
  if (!attention_case) {
    console.fail(attention_case.error());
    return kExitSomeFailed;  // an input that cannot be read; there is no model here
  }
  Status status = attend(arguments, *attention_case, *context);
  if (status) {
    status = flush_output();
  }
  return status ? kExitDone : console.fail(status.error());
}

}  // namespace

Command add_attend(CLI::App& root) {
  const auto arguments = std::make_shared<AttendArguments>();
  CLI::App* app =
      root.add_subcommand("attend", "Runs one attention case: q, k, v, cu_seqlens -> out, lse");
  app->add_option("in", arguments->in,
                  "safetensors: q k v cu_seqlens_q cu_seqlens_k, optional sinks and bias")
      ->required();
  app->add_option("-o,--out", arguments->out, "safetensors to write: out and lse, float32")
      ->required();
  app->add_option("--backend", arguments->backend, "auto, or a name that `foveal backends` lists")
      ->capture_default_str();
  app->add_option("--dtype", arguments->dtype, "auto (as in the file), f32, bf16 or f16")
      ->capture_default_str();
  app->add_option("--cpu-isa", arguments->cpu_isa, "auto, generic, avx2, avx512 or amx")
      ->capture_default_str();
  app->add_option("--threads", arguments->threads, "threads; 0: as many as this process may use")
      ->capture_default_str();
  app->add_flag("--json", arguments->json, "print JSON; errors as objects on stderr");
  return {.app = app,
          .run = [arguments](Console& console) { return run_attend(*arguments, console); }};
}

}  // namespace foveal::cli
