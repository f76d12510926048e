// A call in parts that forgets max_seqlen: the error says what is missing, by id, with the value to
// pass.
#include <foveal/attention/attention.hpp>

#include <cstdio>
#include <vector>

int main() {
  using namespace foveal;
  const std::vector<std::int32_t> cu_seqlens{0, 256, 1280, 1857},
      lengths{256, 1024, 577};     // tokens
  const Shape shape{1857, 2, 72};  // (T, num_heads, head_dim)
  std::vector<float> q(static_cast<std::size_t>(shape.numel()), 0.5F), out = q;
  const ConstTensorView view(q.data(), DType::kF32, shape);

  const Context context = Context::create().value();
  AttentionParts parts{.cu_seqlens = {cu_seqlens.data(), DType::kI32, {4}},
                       .sequence_lengths = ConstTensorView(lengths.data(), DType::kI32, {3})};
  const auto call = [&] {
    return attention_from_parts(context, {.q = view, .k = view, .v = view}, parts, {},
                                {.out = {out.data(), DType::kF32, shape}});
  };
  const Status forgotten = call();
  if (forgotten) {
    return 1;
  }
  const Error& error = forgotten.error();
  std::printf("%s %s\n%s\nfix: %s\n", error.id().c_str(), std::string(error.name()).c_str(),
              error.message().c_str(), error.fix().c_str());

  parts.max_seqlen = 1024;
  const Status fixed = call();
  std::printf("with max_seqlen=1024: %s\n", fixed ? "ok" : fixed.error().describe().c_str());
  return fixed ? 0 : 1;
}
