// A plan from lengths, by the attention library alone.
#include <foveal/attention/attention.hpp>

#include <cstdio>
#include <vector>

int main() {
  const std::vector<std::int64_t> lengths{3, 5};
  const auto seqs =
      foveal::PackedSeqs::from_lengths(std::span<const std::int64_t>(lengths)).value();
  const foveal::Context context = foveal::Context::create().value();
  const auto plan =
      context.plan({.heads = {.num_heads = 1, .head_dim = 64}, .q_seqs = seqs, .k_seqs = seqs})
          .value();
  std::printf("%s", plan.describe().c_str());
  return plan.problem().q_seqs.total_tokens().v == 8 ? 0 : 1;
}
