// Packed attention of three images of 256, 1024 and 577 tokens, 2 heads of 72, checked against the
// reference.
#include <foveal/attention/attention.hpp>
#include <foveal/context.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

int main() {
  using namespace foveal;
  const std::vector<std::int64_t> lengths{256, 1024, 577};  // tokens
  const PackedSeqs seqs = PackedSeqs::from_lengths(std::span<const std::int64_t>(lengths)).value();
  const Shape shape{seqs.total_tokens().v, 2, 72};  // (T, num_heads, head_dim)
  std::vector<float> q(static_cast<std::size_t>(shape.numel())), k = q, v = q, out = q, want = q;
  for (std::size_t i = 0; i < q.size(); ++i) {
    q[i] = std::sin(0.1F * static_cast<float>(i));
    k[i] = std::cos(0.3F * static_cast<float>(i));
    v[i] = std::sin(0.7F * static_cast<float>(i));
  }
  const QkvView in{.q = {q.data(), DType::kF32, shape},
                   .k = {k.data(), DType::kF32, shape},
                   .v = {v.data(), DType::kF32, shape}};

  const Context context = Context::create().value();
  const AttentionProblem problem{
      .heads = {.num_heads = 2, .head_dim = 72}, .q_seqs = seqs, .k_seqs = seqs};
  const AttentionPlan plan = context.plan(problem).value();
  context.attention(plan, in, {.out = {out.data(), DType::kF32, shape}}).value();
  std::printf("%s", plan.describe().c_str());

  const AttentionPlan reference = context.plan(problem, "reference").value();
  context.attention(reference, in, {.out = {want.data(), DType::kF32, shape}}).value();
  float difference = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    difference = std::max(difference, std::fabs(out[i] - want[i]));
  }
  std::printf("largest difference to the reference: %.2g\n", static_cast<double>(difference));
  return difference < 1e-5F ? 0 : 1;
}
