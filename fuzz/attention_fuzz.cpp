// Differential: bytes -> a small attention problem; the reference and every instruction set of
// `cpu` must give one answer, on one thread and on a plan for three.
#include "backends/attention_case.hpp"

#include <cstdio>

namespace {

using namespace foveal;        // NOLINT(google-build-using-namespace): a program of one file
using namespace foveal::test;  // NOLINT(google-build-using-namespace)

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  // 0 once the bytes are used up.
  std::uint8_t next() { return at_ < size_ ? data_[at_++] : 0; }
  std::int64_t below(std::int64_t n) { return next() % n; }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
  std::size_t at_ = 0;
};

std::vector<std::int64_t> lengths(Input& input, std::int64_t count) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t n = input.next();
    out.push_back(n < 200 ? n % 24 : n - 100);  // mostly short, up to 155: more than two key blocks
  }
  return out;
}

Case case_from(Input input) {
  Case c;
  c.heads.num_kv_heads = 1 + input.below(2);
  c.heads.num_heads = c.heads.num_kv_heads * (1 + input.below(2));
  c.heads.head_dim = 8 * (1 + input.below(32));
  c.heads.v_head_dim = 8 * (1 + input.below(32));
  c.dtype =
      std::array{DType::kF32, DType::kF16, DType::kBF16}[static_cast<std::size_t>(input.below(3))];
  c.memory = static_cast<Memory>(input.below(3));
  c.gain = std::array{0.0F, 0.1F, 1.0F, 8.0F}[static_cast<std::size_t>(input.below(4))];
  c.seed = input.next();
  AttentionOptions& o = c.options;
  const std::uint8_t flags = input.next();
  o.lse = (flags & 1) != 0 ? Lse::kYes : Lse::kNo;
  o.causal = (flags & 2) != 0 ? Causal::kYes : Causal::kNo;
  o.sinks = (flags & 4) != 0;
  o.bias = (flags & 8) != 0;
  if ((flags & 16) != 0) {
    o.window_left = Tokens(input.below(80));
  }
  if ((flags & 32) != 0) {
    o.window_right = Tokens(input.below(80));
  }
  if ((flags & 64) != 0) {
    o.softcap = static_cast<float>(1 + input.below(60));
  }
  if ((flags & 128) != 0) {
    o.softmax_scale = static_cast<float>(input.below(256) - 128) / 256.0F;
  }
  c.rows_beyond = input.below(4);
  if (c.rows_beyond > 0) {
    o.rows_beyond = RowsBeyond::kZero;
  }
  const std::int64_t count = input.below(5);
  c.q_lens = lengths(input, count);
  c.k_lens = input.below(2) == 0 ? c.q_lens : lengths(input, count);
  return c;
}

// Halves the lengths until a run takes milliseconds: many small problems find more than a few large
// ones.
void shrink(Case& c) {
  constexpr std::int64_t kMostProducts = 1 << 19;
  const auto products = [&c] {
    std::int64_t pairs = 0;
    for (std::size_t i = 0; i < c.q_lens.size(); ++i) {
      pairs += (c.q_lens[i] + 8) * (c.k_lens[i] + 8);
    }
    return pairs * c.heads.num_heads * (c.heads.head_dim + c.heads.v_head_dim);
  };
  while (products() > kMostProducts &&
         std::max(Inputs::longest(c.q_lens), Inputs::longest(c.k_lens)) > 1) {
    for (std::vector<std::int64_t>* lens : {&c.q_lens, &c.k_lens}) {
      for (std::int64_t& n : *lens) {
        n = (n + 1) / 2;
      }
    }
  }
}

void require_same(const Inputs& in, const Outputs& got, const Outputs& want, CpuIsa isa) {
  const std::string where = difference(in, got, want);
  if (!where.empty()) {
    std::fprintf(stderr, "cpu (%s) differs from the reference: %s\n",
                 std::string(isa_name(isa)).c_str(), where.c_str());
    std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Case c = case_from(Input(data, size));
  shrink(c);
  const Inputs in(c);
  const Outputs want = run_on("reference", in);
  std::string last;  // an instruction set without a kernel of its own runs that of a lesser one
  for (const CpuIsa isa : detect_cpu().available()) {
    const std::string instance(plan_on("cpu", in, isa).instance());
    if (instance == last) {
      continue;
    }
    last = instance;
    require_same(in, run_on("cpu", in, isa), want, isa);
    require_same(in, run_plan(plan_on("cpu", in, isa, 3), in, nullptr), want, isa);
  }
  return 0;
}
