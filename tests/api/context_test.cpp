// Context: options, what it reports, and attention from many threads at once.
#include <gtest/gtest.h>
#include <foveal/attention/attention.hpp>
#include <foveal/context.hpp>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace foveal {
namespace {

struct Case {
  std::int64_t rows = 0;
  std::int64_t heads = 2;
  std::int64_t dim = 16;
  std::vector<float> q, k, v;

  Case(std::int64_t t, unsigned seed) : rows(t) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> value(-1, 1);
    for (std::vector<float>* x : {&q, &k, &v}) {
      x->resize(static_cast<std::size_t>(rows * heads * dim));
      for (float& f : *x) {
        f = value(random);
      }
    }
  }
  Shape shape() const { return {rows, heads, dim}; }
  QkvView in() const {
    return {.q = {q.data(), DType::kF32, shape()},
            .k = {k.data(), DType::kF32, shape()},
            .v = {v.data(), DType::kF32, shape()}};
  }
  std::vector<float> empty_out() const {
    return std::vector<float>(q.size(), std::numeric_limits<float>::quiet_NaN());
  }
};

AttentionProblem problem(const Case& c, const std::vector<std::int64_t>& lengths) {
  const PackedSeqs seqs = PackedSeqs::from_lengths(std::span<const std::int64_t>(lengths)).value();
  return {.heads = {.num_heads = c.heads, .head_dim = c.dim},
          .q_seqs = seqs,
          .k_seqs = seqs,
          .options = {},
          .dtype = DType::kF32,
          .device = {}};
}

TEST(Context, UsesWhatTheProcessMayUseUnlessToldOtherwise) {
  const Context all = Context::create().value();
  EXPECT_GE(all.threads(), 1);
  EXPECT_FALSE(all.cpu_isa().empty());
  EXPECT_FALSE(all.cpu_isas().empty());
  EXPECT_EQ(Context::create({.threads = 3}).value().threads(), 3);
}

TEST(Context, RefusesThreadsIsaAndBackendThatAreNot) {
  for (const int threads : {-1, 1'000'000}) {
    const auto c = Context::create({.threads = threads});
    ASSERT_FALSE(c);
    EXPECT_EQ(c.error().code(), ErrorCode::kOptionInvalid);
    EXPECT_EQ(c.error().field("value")->text(), std::to_string(threads));
  }
  const auto isa = Context::create({.cpu_isa = "vax"});
  ASSERT_FALSE(isa);
  EXPECT_EQ(isa.error().code(), ErrorCode::kCpuIsaUnavailable);
  const auto backend = Context::create({.backend = "abacus"});
  ASSERT_FALSE(backend);
  EXPECT_EQ(backend.error().code(), ErrorCode::kBackendUnknown);
  EXPECT_NE(backend.error().fix().find("reference"), std::string::npos);
}

TEST(Context, EveryInstructionSetOfThisMachineCanBeForced) {
  const Context best = Context::create().value();
  for (const std::string_view isa : best.cpu_isas()) {
    const auto forced = Context::create({.threads = 1, .cpu_isa = std::string(isa)});
    ASSERT_TRUE(forced) << isa;
    EXPECT_EQ(forced->cpu_isa(), isa);
  }
}

TEST(Context, ListsBackendsBestFirstWithTheReasonsOfThoseThatDecline) {
  const Context context = Context::create({.threads = 1}).value();
  const std::vector<BackendStatus> backends = context.backends();
  ASSERT_GE(backends.size(), 2U);
  EXPECT_EQ(backends.back().name, "reference");
  EXPECT_TRUE(backends.back().reason.empty());
  for (const BackendStatus& b : backends) {
    EXPECT_EQ(b.reason.empty(), b.name == "cpu" || b.name == "reference")
        << b.name << ": " << b.reason;
  }
}

TEST(Context, AForcedBackendIsThatOneOrAnError) {
  const Case c(3, 1);
  const Context reference = Context::create({.threads = 1, .backend = "reference"}).value();
  EXPECT_EQ(reference.plan(problem(c, {3})).value().backend(), "reference");
  EXPECT_EQ(reference.plan(problem(c, {3}), "cpu").value().backend(), "cpu");
  const Context gpu = Context::create({.threads = 1, .backend = "sm90"}).value();
  const auto plan = gpu.plan(problem(c, {3}));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code(), ErrorCode::kBackendDeclined);
  EXPECT_EQ(plan.error().field("reason")->text(), "built without CUDA");
}

TEST(Context, MayBeMovedWhileItsPlansLive) {
  const Case c(8, 2);
  Context first = Context::create({.threads = 2}).value();
  const AttentionPlan plan = first.plan(problem(c, {5, 3})).value();
  const Context second = std::move(first);
  std::vector<float> out = c.empty_out();
  ASSERT_TRUE(second.attention(plan, c.in(), {.out = {out.data(), DType::kF32, c.shape()}}));
  for (const float f : out) {
    ASSERT_TRUE(std::isfinite(f));
  }
}

TEST(Context, ManyThreadsShareItAndGetTheBitsOfOne) {
  const Context context = Context::create({.threads = 2}).value();
  constexpr int kThreads = 6;
  constexpr int kCalls = 30;
  std::vector<std::string> failures(kThreads);
  std::vector<std::jthread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      // Each thread has other lengths, so that workspaces of several sizes are lent and given back.
      const Case c(20 * (t + 1), static_cast<unsigned>(t));
      const AttentionPlan plan = context.plan(problem(c, {7, c.rows - 7})).value();
      std::vector<float> first = c.empty_out();
      for (int call = 0; call < kCalls; ++call) {
        std::vector<float> out = c.empty_out();
        const Status status =
            context.attention(plan, c.in(), {.out = {out.data(), DType::kF32, c.shape()}});
        if (!status) {
          failures[static_cast<std::size_t>(t)] = status.error().describe();
          return;
        }
        if (call == 0) {
          first = out;
        } else if (out != first) {
          failures[static_cast<std::size_t>(t)] = "call " + std::to_string(call) + " differs";
          return;
        }
      }
    });
  }
  threads.clear();
  for (const std::string& failure : failures) {
    EXPECT_EQ(failure, "");
  }
}

}  // namespace
}  // namespace foveal
