// One plan for all layers of a batch: nothing is checked, allocated or synchronised again, and q, k
// and v are views into one fused (T, 3, num_heads, head_dim) buffer without a copy.
#include <foveal/context.hpp>

#include <cstdio>
#include <vector>

int main() {
  using namespace foveal;
  constexpr std::int64_t kHeads = 4, kDim = 64, kLayers = 12;
  const std::vector<std::int32_t> cu_seqlens{0, 196, 452, 1029};  // tokens: three images
  const PackedSeqs seqs =
      PackedSeqs::from_cu_seqlens(std::span<const std::int32_t>(cu_seqlens)).value();
  const std::int64_t rows = seqs.total_tokens().v;

  const Context context = Context::create().value();
  const AttentionPlan plan =
      context
          .plan({.heads = {.num_heads = kHeads, .head_dim = kDim}, .q_seqs = seqs, .k_seqs = seqs})
          .value();

  std::vector<float> qkv(static_cast<std::size_t>(rows * 3 * kHeads * kDim), 0.5F);
  std::vector<float> hidden(static_cast<std::size_t>(rows * kHeads * kDim));
  const auto part = [&](std::int64_t which) {  // 0 q, 1 k, 2 v
    const Strides strides{Elements(3 * kHeads * kDim), Elements(kDim), Elements(1)};
    return ConstTensorView(qkv.data() + which * kHeads * kDim, DType::kF32, {rows, kHeads, kDim},
                           strides);
  };
  for (std::int64_t layer = 0; layer < kLayers; ++layer) {
    const Status status =
        context.attention(plan, {.q = part(0), .k = part(1), .v = part(2)},
                          {.out = {hidden.data(), DType::kF32, {rows, kHeads, kDim}}});
    if (!status) {
      std::printf("%s\n", status.error().describe().c_str());
      return 1;
    }
  }
  std::printf("%d layers with one plan on %s\n", static_cast<int>(kLayers),
              std::string(plan.backend()).c_str());
  return 0;
}
