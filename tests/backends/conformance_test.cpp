// Every backend of the table that serves a problem must give what the reference gives.
#include "support.hpp"

namespace foveal::test {
namespace {

class Conformance : public OnProvider {};

AttentionOptions with_lse() {
  AttentionOptions o;
  o.lse = Lse::kYes;
  return o;
}

TEST_P(Conformance, EveryHeadDim) {
  for (std::int64_t d = 8; d <= 256; d += 8) {
    check({.heads = {.num_heads = 2, .head_dim = d}, .q_lens = {17, 66, 1}, .options = with_lse()});
  }
}

TEST_P(Conformance, EveryTileEdge) {
  for (const std::int64_t n :
       {0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 47, 48, 49, 63, 64, 65, 127, 128, 129}) {
    check({.heads = {.num_heads = 1, .head_dim = 40}, .q_lens = {n}, .options = with_lse()});
  }
  check({.heads = {.num_heads = 1, .head_dim = 72}, .q_lens = {577}, .options = with_lse()});
}

TEST_P(Conformance, EveryKeyCountOfABlock) {
  for (std::int64_t n = 1; n <= 70; ++n) {
    check({.heads = {.num_heads = 1, .head_dim = 16},
           .q_lens = {n % 9 + 1, 20, 40, 60},
           .k_lens = {n, n, n, n}});
  }
}

TEST_P(Conformance, RaggedPackWithEmptySequences) {
  check({.heads = {.num_heads = 3, .head_dim = 64},
         .q_lens = {0, 5, 0, 130, 64, 0, 0, 1, 15, 0},
         .options = with_lse()});
}

TEST_P(Conformance, GroupedHeads) {
  check({.heads = {.num_heads = 6, .num_kv_heads = 2, .head_dim = 64},
         .q_lens = {33, 2, 64},
         .options = with_lse()});
  check({.heads = {.num_heads = 5, .num_kv_heads = 1, .head_dim = 80},
         .q_lens = {33, 2, 64},
         .options = with_lse()});
}

TEST_P(Conformance, DifferentLengthsOfQueriesAndKeys) {
  check({.heads = {.num_heads = 2, .head_dim = 72},
         .q_lens = {1, 1, 4, 0, 70, 3},
         .k_lens = {577, 1, 0, 9, 5, 200},
         .options = with_lse()});
}

TEST_P(Conformance, NoKeysAnywhere) {
  check({.heads = {.num_heads = 2, .head_dim = 64},
         .q_lens = {3, 4},
         .k_lens = {0, 0},
         .options = with_lse()});
}

TEST_P(Conformance, OwnHeadDimOfValues) {
  for (const std::int64_t dv : {8, 24, 72, 128, 256}) {
    check({.heads = {.num_heads = 2, .head_dim = 64, .v_head_dim = dv},
           .q_lens = {45, 20},
           .options = with_lse()});
  }
}

TEST_P(Conformance, EveryDtypeInEveryMemoryLayout) {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    for (const Memory memory : {Memory::kContiguous, Memory::kFused, Memory::kHeadMajor}) {
      check({.heads = {.num_heads = 4, .num_kv_heads = 2, .head_dim = 72, .v_head_dim = 40},
             .q_lens = {65, 0, 1, 19},
             .options = with_lse(),
             .dtype = dtype,
             .memory = memory});
    }
  }
}

TEST_P(Conformance, AnySoftmaxScale) {
  for (const float scale : {0.0F, -0.125F, 1.0F, 0.001F, -2.0F}) {
    AttentionOptions o = with_lse();
    o.softmax_scale = scale;
    check({.heads = {.num_heads = 2, .head_dim = 64}, .q_lens = {45, 20}, .options = o});
  }
}

TEST_P(Conformance, LogitsOfThousands) {
  AttentionOptions o = with_lse();
  o.softmax_scale = 1.0F;
  check({.heads = {.num_heads = 2, .head_dim = 64},
         .q_lens = {45, 130},
         .options = o,
         .gain = 300.0F});
}

TEST_P(Conformance, RowsPastTheLastSequence) {
  AttentionOptions o = with_lse();
  o.rows_beyond = RowsBeyond::kZero;
  for (const Memory memory : {Memory::kContiguous, Memory::kFused}) {
    check({.heads = {.num_heads = 2, .head_dim = 64},
           .q_lens = {17, 0, 3},
           .options = o,
           .dtype = DType::kBF16,
           .memory = memory,
           .rows_beyond = 5});
  }
}

TEST_P(Conformance, NothingAtAll) {
  check({.heads = {.num_heads = 2, .head_dim = 64}, .q_lens = {}, .options = with_lse()});
  check({.heads = {.num_heads = 2, .head_dim = 64}, .q_lens = {0, 0}, .options = with_lse()});
}

TEST_P(Conformance, CausalAndWindows) {
  const std::vector<std::int64_t> q_lens{70, 5, 1, 200, 20, 30};
  const std::vector<std::int64_t> k_lens{70, 5, 1, 200, 133, 12};
  const auto run = [&](std::optional<std::int64_t> left, std::optional<std::int64_t> right,
                       Causal causal) {
    AttentionOptions o = with_lse();
    o.window_left = left ? std::optional(Tokens(*left)) : std::nullopt;
    o.window_right = right ? std::optional(Tokens(*right)) : std::nullopt;
    o.causal = causal;
    check({.heads = {.num_heads = 2, .head_dim = 64},
           .q_lens = q_lens,
           .k_lens = k_lens,
           .options = o});
  };
  run({}, {}, Causal::kYes);
  run(9, {}, Causal::kNo);
  run({}, 4, Causal::kNo);
  run(9, 4, Causal::kNo);
  run(0, 0, Causal::kNo);
  run(80, {}, Causal::kYes);
  run(std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::max(),
      Causal::kNo);
}

TEST_P(Conformance, SinksSoftcapAndBias) {
  AttentionOptions o = with_lse();
  o.sinks = true;
  const Case plain{.heads = {.num_heads = 4, .num_kv_heads = 2, .head_dim = 64},
                   .q_lens = {70, 3, 0, 65},
                   .k_lens = {70, 0, 4, 130},
                   .options = o};
  check(plain);
  Case c = plain;
  c.options.sinks = false;
  c.options.softcap = 5.0F;
  c.gain = 3.0F;
  check(c);
  c.options.softcap = 50.0F;
  check(c);
  c = plain;
  c.options.bias = true;
  check(c);
  c.options.softcap = 20.0F;
  c.options.causal = Causal::kYes;
  c.options.window_left = Tokens(40);
  check(c);
}

// Several chunks of keys, several tiles that share them, and tiles that windows keep away from
// some.
TEST_P(Conformance, LongSequence) {
  check({.heads = {.num_heads = 1, .head_dim = 256}, .q_lens = {700}, .options = with_lse()});
  AttentionOptions o = with_lse();
  o.window_left = Tokens(100);
  o.window_right = Tokens(20);
  check({.heads = {.num_heads = 1, .head_dim = 256, .v_head_dim = 8},
         .q_lens = {1100},
         .options = o});
}

// With scale 0 and two keys the result is the mean of two values, exact in float32: half of them
// are ties.
TEST_P(Conformance, OutputsAreRoundedToNearestEven) {
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    Case c{.heads = {.num_heads = 2, .head_dim = 64},
           .q_lens = std::vector<std::int64_t>(20, 2),
           .dtype = dtype};
    c.options.softmax_scale = 0.0F;
    const Inputs in(c);
    const Outputs got = run(in);
    for (std::int64_t row = 0; row < 40; ++row) {
      const std::int64_t first = row / 2 * 2;
      for (std::int64_t h = 0; h < 2; ++h) {
        for (std::int64_t d = 0; d < 64; ++d) {
          const float mean = 0.5F * (read(in.v(), at(in.v(), first, h, d)) +
                                     read(in.v(), at(in.v(), first + 1, h, d)));
          const float want =
              dtype == DType::kBF16 ? bf16_to_f32(f32_to_bf16(mean)) : f16_to_f32(f32_to_f16(mean));
          ASSERT_EQ(got.out(row, h, d), want) << dtype_name(dtype) << ", mean " << mean;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Conformance, testing::ValuesIn(providers()), provider_name);

}  // namespace
}  // namespace foveal::test
