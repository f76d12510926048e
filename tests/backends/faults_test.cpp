// Faults that users reported against other varlen attention kernels, each as a test of ours. The
// comment names the report; the inputs are those that provoked it.
#include "support.hpp"

#include <sys/mman.h>

namespace foveal::test {
namespace {

class Fault : public OnProvider {};

AttentionOptions with_lse() {
  AttentionOptions o;
  o.lse = Lse::kYes;
  return o;
}

std::vector<std::int64_t> lengths(const std::vector<std::int64_t>& cu_seqlens) {
  std::vector<std::int64_t> out;
  for (std::size_t i = 1; i < cu_seqlens.size(); ++i) {
    out.push_back(cu_seqlens[i] - cu_seqlens[i - 1]);
  }
  return out;
}

// flashinfer#4270: rows of the log-sum-exp past each length held whatever was in memory.
TEST_P(Fault, EveryRowOfOutAndLseIsWritten) {
  AttentionOptions o = with_lse();
  o.rows_beyond = RowsBeyond::kZero;
  check({.heads = {.num_heads = 3, .head_dim = 64},
         .q_lens = {5, 1, 0, 7},
         .options = o,
         .rows_beyond = 9});
}

// flash-attention#1537: max_seqlen 1 with some empty sequences took a shortcut that assumed a row
// in each.
TEST_P(Fault, LongestOfOneTokenWithEmptySequences) {
  check({.heads = {.num_heads = 9, .num_kv_heads = 3, .head_dim = 64},
         .q_lens = lengths({0, 0, 1, 1, 2}),
         .options = with_lse()});
}

// flash-attention#2470: keys of zero tokens divided by zero on the host.
TEST_P(Fault, WholeBatchEmpty) {
  check({.heads = {.num_heads = 2, .head_dim = 64},
         .q_lens = lengths({0, 0, 0}),
         .options = with_lse()});
}

// flash-attention#2562, #2568: empty sequences hung the kernel for dim 256, or gave NaN. The
// lengths of the report by a quarter: the tails stay uneven.
TEST_P(Fault, EmptySequencesAtHeadDim256) {
  check({.heads = {.num_heads = 1, .head_dim = 256},
         .q_lens = lengths({0, 0, 302, 512, 512}),
         .k_lens = lengths({0, 635, 1070, 1280, 2048}),
         .options = with_lse()});
}

// unslothai/unsloth#9848: rows that may see nothing became NaN and spread.
TEST_P(Fault, RowsThatSeeNothingAreZero) {
  AttentionOptions o = with_lse();
  o.causal = Causal::kYes;
  const Case c{.heads = {.num_heads = 2, .head_dim = 64},
               .q_lens = {4, 6, 4},
               .k_lens = {0, 2, 4},
               .options = o};
  check(c);
  const Inputs in(c);
  if (const std::string reason = reason_of(GetParam(), checked(in.problem()).value());
      !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  const Outputs got = run(in);
  for (std::int64_t row = 0; row < 8;
       ++row) {  // all of sequence 0, and the first four rows of sequence 1
    for (std::int64_t h = 0; h < 2; ++h) {
      EXPECT_EQ(got.out(row, h, 63), 0.0F) << row;
      EXPECT_EQ(got.lse(h, row), -std::numeric_limits<float>::infinity()) << row;
    }
  }
}

// The same by a bias of -inf, as a boolean mask is written: on one key, on a whole block of them,
// on all.
TEST_P(Fault, RowsThatABiasMasksWhollyAreZero) {
  AttentionOptions o = with_lse();
  o.bias = true;
  const Case c{
      .heads = {.num_heads = 1, .head_dim = 64}, .q_lens = {3}, .k_lens = {70}, .options = o};
  Inputs in(c);
  if (const std::string reason = reason_of(GetParam(), checked(in.problem()).value());
      !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  constexpr float kMasked = -std::numeric_limits<float>::infinity();
  in.bias()[5] = kMasked;
  std::fill(in.bias().begin() + 70, in.bias().begin() + 70 + 64, kMasked);
  std::fill(in.bias().begin() + 140, in.bias().end(), kMasked);
  const Outputs got = run(in);
  EXPECT_EQ(difference(in, got, run_on("reference", in)), "");
  for (std::int64_t column = 0; column < 64; ++column) {
    EXPECT_TRUE(std::isfinite(got.out(1, 0, column))) << column;
    EXPECT_EQ(got.out(2, 0, column), 0.0F) << column;
  }
  EXPECT_EQ(got.lse(0, 2), kMasked);
}

// fla-org/flash-linear-attention#103: repeated offsets, in the middle and as padding of the batch.
TEST_P(Fault, RepeatedOffsetsAreEmptySequences) {
  for (const std::size_t entries : {5, 8, 16, 32, 64}) {
    std::vector<std::int64_t> cu{0, 7, 7, 7, 20};
    cu.resize(entries, 20);
    check(
        {.heads = {.num_heads = 2, .head_dim = 64}, .q_lens = lengths(cu), .options = with_lse()});
  }
}

// flashinfer#1419: illegal access once the total reached 16384. Compared at both ends of the pack.
TEST_P(Fault, TotalsAround16384) {
  for (const std::int64_t total : {16383, 16384, 16385, 65536}) {
    std::vector<std::int64_t> lens(static_cast<std::size_t>(total / 16), 16);
    lens.back() += total % 16;
    check({.heads = {.num_heads = 1, .head_dim = 8}, .q_lens = lens, .options = with_lse()});
  }
}

// flashinfer#1663: backends disagreed for dim 192 with uneven lengths.
TEST_P(Fault, UnevenLengthsAtEveryCommonHeadDim) {
  for (const std::int64_t d : {64, 72, 80, 88, 96, 128, 192, 256}) {
    check({.heads = {.num_heads = 2, .head_dim = d},
           .q_lens = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
           .options = with_lse()});
  }
  check({.heads = {.num_heads = 1, .head_dim = 192}, .q_lens = {256, 1535}, .options = with_lse()});
}

INSTANTIATE_TEST_SUITE_P(Backends, Fault, testing::ValuesIn(providers()), provider_name);

// Address space without memory behind it: pages appear where they are touched.
class Sparse {
 public:
  explicit Sparse(std::size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Sparse() {
    if (valid()) {
      munmap(data_, bytes_);
    }
  }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;
  bool valid() const { return data_ != MAP_FAILED; }
  void* data() const { return data_; }

 private:
  std::size_t bytes_;
  void* data_;
};

// Knowledgator/FlashDeBERTa#11, flashinfer#596: 32-bit pointer arithmetic on packed positions. Here
// the rows are so far apart that the last ones lie beyond 2^32 elements of q, k, v and out.
TEST_P(Fault, OffsetsBeyond32BitsReachTheRightRows) {
  const Case c{.heads = {.num_heads = 2, .head_dim = 64}, .q_lens = {40, 3}, .options = with_lse()};
  const Inputs in(c);
  constexpr std::int64_t kStride = std::int64_t{1} << 27;  // elements: 43 rows of 512 MiB
  const std::size_t bytes = static_cast<std::size_t>(kStride) * 4 * 43;
  const Sparse memory(bytes);
  if (!memory.valid()) {
    GTEST_SKIP() << "no address space of " << bytes << " bytes here";
  }
  const auto far = [&](const TensorView& near, std::int64_t column) {
    TensorView out = near;
    out.data = static_cast<float*>(memory.data()) + column;
    out.strides[0] = Elements(kStride);
    for (std::int64_t r = 0; r < near.shape[0]; ++r) {
      for (std::int64_t h = 0; h < near.shape[1]; ++h) {
        for (std::int64_t d = 0; d < near.shape[2]; ++d) {
          write(out, at(out, r, h, d), read(near, at(near, r, h, d)));
        }
      }
    }
    return out;
  };
  Outputs want = run(in);
  QkvView view = in.view();
  view.q = far(in.q(), 0);
  view.k = far(in.k(), 1000);
  view.v = far(in.v(), 2000);
  Outputs got(in.with());
  OutView out = got.view;
  out.out.data = static_cast<float*>(memory.data()) + 3000;
  out.out.strides[0] = Elements(kStride);
  const AttentionPlan plan = plan_on(GetParam().backend, in, GetParam().isa);
  const Guarded workspace(plan.workspace_size().v);
  plan.run(view, out, {workspace.data(), Bytes(workspace.bytes())}, {}).value();
  for (std::int64_t r = 0; r < 43; ++r) {
    for (std::int64_t h = 0; h < 2; ++h) {
      for (std::int64_t d = 0; d < 64; ++d) {
        ASSERT_EQ(read(out.out, at(out.out, r, h, d)), want.out(r, h, d))
            << r << " " << h << " " << d;
      }
    }
  }
}

}  // namespace
}  // namespace foveal::test
