// What must not change a single bit: how sequences are packed, how many threads work, which other
// sequences and heads are there. For the backends that promise it: the reference and `cpu`.
#include "support.hpp"

#include <thread>

namespace foveal::test {
namespace {

class Property : public OnProvider {
 protected:
  AttentionPlan plan_for(const Inputs& in, int threads) const {
    return plan_on(GetParam().backend, in, GetParam().isa, threads);
  }
};

AttentionOptions with_lse() {
  AttentionOptions o;
  o.lse = Lse::kYes;
  return o;
}

const Case kPack{.heads = {.num_heads = 4, .num_kv_heads = 2, .head_dim = 72, .v_head_dim = 64},
                 .q_lens = {130, 1, 64, 17, 33},
                 .k_lens = {130, 20, 64, 5, 90},
                 .options = with_lse()};

// Rows of sequence `b` of one call against those of sequence `c` of another: out and lse, all bits.
void expect_same_bits(const Inputs& in1, const Outputs& out1, std::int64_t b, const Inputs& in2,
                      const Outputs& out2, std::int64_t c) {
  const AttentionProblem p1 = in1.problem();
  const AttentionProblem p2 = in2.problem();
  const Sequence s1 = p1.q_seqs[b];
  const Sequence s2 = p2.q_seqs[c];
  ASSERT_EQ(s1.length.v, s2.length.v);
  const std::int64_t bytes = p1.heads.v_head_dim * dtype_size(p1.dtype).v;
  for (std::int64_t i = 0; i < s1.length.v; ++i) {
    for (std::int64_t h = 0; h < p1.heads.num_heads; ++h) {
      const auto* a =
          out1.out_memory.data() + at(out1.view.out, s1.begin.v + i, h, 0) * dtype_size(p1.dtype).v;
      const auto* w =
          out2.out_memory.data() + at(out2.view.out, s2.begin.v + i, h, 0) * dtype_size(p1.dtype).v;
      ASSERT_EQ(std::memcmp(a, w, static_cast<std::size_t>(bytes)), 0)
          << text(in1.with()) << ": row " << i << " of sequence " << b << ", head " << h;
      const float lse1 = out1.lse(h, s1.begin.v + i);
      const float lse2 = out2.lse(h, s2.begin.v + i);
      ASSERT_EQ(std::memcmp(&lse1, &lse2, 4), 0)
          << text(in1.with()) << ": lse of row " << i << " of sequence " << b << ", head " << h;
    }
  }
}

// Copies rows of one tensor into another, head by head.
void copy_rows(const TensorView& from, std::int64_t row, const TensorView& to, std::int64_t to_row,
               std::int64_t rows) {
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t h = 0; h < from.shape[1]; ++h) {
      for (std::int64_t c = 0; c < from.shape[2]; ++c) {
        write(to, at(to, to_row + i, h, c), read(from, at(from, row + i, h, c)));
      }
    }
  }
}

// The same sequences in another order, or a part of them, or with empty ones between: order[i] is
// the sequence of `in` that stands at place i, -1 an empty one.
Inputs rearranged(const Inputs& in, const std::vector<std::int64_t>& order) {
  const AttentionProblem p = in.problem();
  Case c = in.with();
  c.q_lens.clear();
  c.k_lens.clear();
  for (const std::int64_t b : order) {
    c.q_lens.push_back(b < 0 ? 0 : p.q_seqs[b].length.v);
    c.k_lens.push_back(b < 0 ? 0 : p.k_seqs[b].length.v);
  }
  Inputs out(c);
  const AttentionProblem to = out.problem();
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::int64_t b = order[i];
    if (b >= 0) {
      const auto place = static_cast<std::int64_t>(i);
      copy_rows(in.q(), p.q_seqs[b].begin.v, out.q(), to.q_seqs[place].begin.v,
                p.q_seqs[b].length.v);
      copy_rows(in.k(), p.k_seqs[b].begin.v, out.k(), to.k_seqs[place].begin.v,
                p.k_seqs[b].length.v);
      copy_rows(in.v(), p.k_seqs[b].begin.v, out.v(), to.k_seqs[place].begin.v,
                p.k_seqs[b].length.v);
    }
  }
  return out;
}

TEST_P(Property, PackingOrderAndCompanyChangeNoBit) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    Case c = kPack;
    c.dtype = dtype;
    const Inputs in(c);
    const Outputs all = run(in);
    for (const std::vector<std::int64_t>& order :
         std::vector<std::vector<std::int64_t>>{{4, 3, 2, 1, 0},
                                                {2, 0},
                                                {-1, 1, -1, -1, 3, 4, -1},
                                                {0},
                                                {1},
                                                {2},
                                                {3},
                                                {4},
                                                {0, 0, 0, 1, 1}}) {
      const Inputs other = rearranged(in, order);
      const Outputs got = run(other);
      for (std::size_t i = 0; i < order.size(); ++i) {
        if (order[i] >= 0) {
          expect_same_bits(other, got, static_cast<std::int64_t>(i), in, all, order[i]);
        }
      }
    }
  }
}

TEST_P(Property, AloneOrAmongManyShortOnesChangesNoBit) {
  Case c = kPack;
  c.heads = {.num_heads = 3, .head_dim = 64};
  c.q_lens.assign(200, 5);
  c.q_lens[77] = 300;
  c.k_lens.clear();
  const Inputs in(c);
  const Inputs alone = rearranged(in, {77});
  expect_same_bits(in, run(in), 77, alone, run(alone), 0);
}

TEST_P(Property, ThreadsChangeNoBit) {
  for (const std::vector<std::int64_t>& lens : std::vector<std::vector<std::int64_t>>{
           {130, 1, 64, 17, 33, 0}, {700}, std::vector<std::int64_t>(90, 9)}) {
    Case c = kPack;
    c.q_lens = lens;
    c.k_lens.clear();
    const Inputs in(c);
    const Outputs one = run(in);
    for (const int threads : {1, 2, 7}) {
      for (const int pool_size : {1, 2, 7}) {
        ThreadPool pool(pool_size);
        const Outputs got = run_plan(plan_for(in, threads), in, &pool);
        ASSERT_TRUE(got.untouched_outside());
        ASSERT_EQ(std::memcmp(got.out_memory.data(), one.out_memory.data(),
                              static_cast<std::size_t>(one.out_memory.bytes())),
                  0)
            << text(in.with()) << ", " << threads << " threads planned, " << pool_size << " there";
        ASSERT_EQ(std::memcmp(got.lse_memory.data(), one.lse_memory.data(),
                              static_cast<std::size_t>(one.lse_memory.bytes())),
                  0);
      }
    }
  }
}

TEST_P(Property, PermutedHeadsGivePermutedOutputs) {
  Case c = kPack;
  c.heads = {.num_heads = 3, .head_dim = 64};
  const Inputs in(c);
  Inputs turned(c);
  const std::int64_t heads = 3;
  const auto turn = [&](const TensorView& from, const TensorView& to) {
    for (std::int64_t r = 0; r < from.shape[0]; ++r) {
      for (std::int64_t h = 0; h < heads; ++h) {
        for (std::int64_t d = 0; d < from.shape[2]; ++d) {
          write(to, at(to, r, (h + 1) % heads, d), read(from, at(from, r, h, d)));
        }
      }
    }
  };
  turn(in.q(), turned.q());
  turn(in.k(), turned.k());
  turn(in.v(), turned.v());
  const Outputs a = run(in);
  const Outputs b = run(turned);
  for (std::int64_t r = 0; r < a.view.out.shape[0]; ++r) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t d = 0; d < 64; ++d) {
        ASSERT_EQ(a.out(r, h, d), b.out(r, (h + 1) % heads, d)) << r << " " << h << " " << d;
      }
    }
  }
}

// A window of the whole sequence is no window.
TEST_P(Property, WindowAsLongAsTheSequenceChangesNoBit) {
  const Inputs in(kPack);
  Case c = kPack;
  c.options.window_left = Tokens(1000);
  c.options.window_right = Tokens(1000);
  const Inputs wide(c);
  const Outputs a = run(in);
  const Outputs b = run(wide);
  for (std::int64_t s = 0; s < 5; ++s) {
    expect_same_bits(in, a, s, wide, b, s);
  }
}

TEST_P(Property, OnePlanServesManyThreadsAtOnce) {
  const Inputs in(kPack);
  const AttentionPlan plan = plan_for(in, 2);
  const Outputs one = run(in);
  ThreadPool pool(2);
  std::vector<std::thread> threads;
  std::vector<int> different(4, 0);
  for (std::size_t t = 0; t < different.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 5; ++i) {
        const Outputs got = run_plan(plan, in, t % 2 == 0 ? &pool : nullptr);
        different[t] += std::memcmp(got.out_memory.data(), one.out_memory.data(),
                                    static_cast<std::size_t>(one.out_memory.bytes())) != 0;
      }
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
  EXPECT_EQ(different, std::vector<int>(4, 0));
}

std::vector<Provider> promising() {
  std::vector<Provider> out = providers();
  std::erase_if(out,
                [](const Provider& p) { return p.backend != "cpu" && p.backend != "reference"; });
  return out;
}

INSTANTIATE_TEST_SUITE_P(Backends, Property, testing::ValuesIn(promising()), provider_name);

// 131,072 tokens as 32 pictures of 4,096 patches, and as one sequence: what a T x T matrix would be
// is 64 GiB.
TEST(CpuWorkspace, GrowsWithTheThreadsAndNotWithTheTokens) {
  for (const CpuIsa isa : detect_cpu().available()) {
    for (const std::int64_t head_dim : {64, 72, 128, 256}) {
      for (const std::vector<std::int64_t>& lens :
           std::vector<std::vector<std::int64_t>>{std::vector<std::int64_t>(32, 4096), {131072}}) {
        AttentionProblem p;
        p.heads = {.num_heads = 16, .num_kv_heads = 16, .head_dim = head_dim};
        p.q_seqs = PackedSeqs::from_lengths(std::span<const std::int64_t>(lens)).value();
        p.k_seqs = p.q_seqs;
        const std::int64_t one =
            make_plan(p, kBackends, machine_with(isa, 1), "cpu").value().workspace_size().v;
        const std::int64_t eight =
            make_plan(p, kBackends, machine_with(isa, 8), "cpu").value().workspace_size().v;
        EXPECT_LE(one, std::int64_t{1} << 20) << isa_name(isa) << " " << head_dim;
        EXPECT_EQ(eight, 8 * one);
      }
    }
  }
}

TEST(CpuWorkspace, NothingToDoNeedsNone) {
  AttentionProblem p;
  p.heads = {.num_heads = 16, .num_kv_heads = 16, .head_dim = 64};
  EXPECT_EQ(
      make_plan(p, kBackends, machine_with(CpuIsa::kGeneric, 4), "cpu").value().workspace_size().v,
      0);
}

}  // namespace
}  // namespace foveal::test
