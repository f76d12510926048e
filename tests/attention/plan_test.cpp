// Plans: who serves, who declined and why; calls whose views do not fit are refused by id.
#include "attention/backend.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace foveal {
namespace {

Reason accept(const AttentionProblem&, const Machine&) {
  return "";
}
Reason decline_sinks(const AttentionProblem& p, const Machine&) {
  return p.options.sinks ? "it has no sinks" : "";
}
Result<BackendPlan> plan_of(const AttentionProblem&, const Machine&) {
  return BackendPlan{
      .instance = "fake/1", .workspace = Bytes(64), .note = "a note", .state = nullptr};
}
Status run_nothing(const BackendPlan&, const AttentionProblem&, const QkvView&, const OutView&,
                   Workspace, StreamRef) {
  return {};
}
constexpr std::array kFakes{Backend{"fast", decline_sinks, plan_of, run_nothing},
                            Backend{"slow", accept, plan_of, run_nothing}};

AttentionProblem problem(std::vector<std::int64_t> lengths) {
  AttentionProblem p;
  p.heads = {.num_heads = 4, .num_kv_heads = 2, .head_dim = 64, .v_head_dim = 0};
  p.q_seqs = PackedSeqs::from_lengths(std::span<const std::int64_t>(lengths)).value();
  p.k_seqs = p.q_seqs;
  return p;
}

ErrorCode plan_error(const AttentionProblem& p, std::string_view forced = "") {
  const auto r = make_plan(p, kFakes, Machine{}, forced);
  return r ? ErrorCode::kInternal : r.error().code();
}

TEST(Plan, TakesTheBestThatDoesNotDeclineAndSaysWhoDid) {
  const AttentionPlan plain = make_plan(problem({5, 0, 3}), kFakes, Machine{}, "").value();
  EXPECT_EQ(plain.backend(), "fast");
  EXPECT_TRUE(plain.declined().empty());
  AttentionProblem p = problem({5});
  p.options.sinks = true;
  const AttentionPlan plan = make_plan(p, kFakes, Machine{}, "auto").value();
  EXPECT_EQ(plan.backend(), "slow");
  ASSERT_EQ(plan.declined().size(), 1U);
  EXPECT_EQ(plan.declined()[0].reason, "it has no sinks");
  const std::string text = plan.describe();
  for (const char* part : {"longest 5", "4 x 64", "kv 2 x 64", "slow (fake/1)",
                           "declined: fast: it has no sinks", "sinks", "a note"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

TEST(Plan, AForcedBackendThatDeclinesIsAnError) {
  AttentionProblem p = problem({5});
  p.options.sinks = true;
  EXPECT_EQ(plan_error(p, "fast"), ErrorCode::kBackendDeclined);
  EXPECT_EQ(plan_error(p, "quick"), ErrorCode::kBackendUnknown);
  const auto none = make_plan(p, std::span(kFakes).first(1), Machine{}, "");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::kNoBackend);
  EXPECT_NE(none.error().message().find("it has no sinks"), std::string::npos);
}

TEST(Plan, RefusesProblemsThatMakeNoSense) {
  const auto with = [](auto change) {
    AttentionProblem p = problem({5});
    change(p);
    return plan_error(p);
  };
  EXPECT_EQ(with([](auto& p) { p.heads.num_kv_heads = 3; }), ErrorCode::kHeadsInvalid);
  EXPECT_EQ(with([](auto& p) { p.heads.num_heads = 0; }), ErrorCode::kHeadsInvalid);
  EXPECT_EQ(with([](auto& p) { p.heads.num_kv_heads = -2; }), ErrorCode::kHeadsInvalid);
  for (const std::int64_t d : {0, 4, 12, 257, 264, -8}) {
    EXPECT_EQ(with([d](auto& p) { p.heads.head_dim = d; }), ErrorCode::kHeadDimInvalid) << d;
  }
  EXPECT_EQ(with([](auto& p) { p.heads.v_head_dim = 20; }), ErrorCode::kHeadDimInvalid);
  EXPECT_EQ(with([](auto& p) { p.options.softmax_scale = std::numeric_limits<float>::infinity(); }),
            ErrorCode::kOptionInvalid);
  EXPECT_EQ(with([](auto& p) { p.options.softcap = 0.0F; }), ErrorCode::kOptionInvalid);
  EXPECT_EQ(with([](auto& p) { p.options.window_left = Tokens(-1); }), ErrorCode::kOptionInvalid);
  EXPECT_EQ(with([](auto& p) { p.dtype = DType::kI32; }), ErrorCode::kDtypeUnsupported);
  EXPECT_EQ(with([](auto& p) { p.k_seqs = PackedSeqs(); }), ErrorCode::kSequenceCountMismatch);
}

// A call whose views can be spoiled one at a time.
struct Call {
  AttentionProblem p;
  std::vector<float> data = std::vector<float>(8 * 4 * 64 + 8);
  std::vector<std::byte> scratch = std::vector<std::byte>(64);
  QkvView in;
  OutView out;
  Workspace workspace;

  explicit Call(AttentionProblem from) : p(std::move(from)) {
    in.q = ConstTensorView(data.data(), DType::kF32, {8, 4, 64});
    in.k = ConstTensorView(data.data(), DType::kF32, {8, 2, 64});
    in.v = ConstTensorView(data.data(), DType::kF32, {8, 2, 64});
    out.out = TensorView(data.data(), DType::kF32, {8, 4, 64});
    workspace = {scratch.data(), Bytes(64)};
  }
  ErrorCode run() const {
    const auto plan = make_plan(p, kFakes, Machine{}, "").value();
    const Status s = plan.run(in, out, workspace, {});
    return s ? ErrorCode::kInternal : s.error().code();
  }
};

TEST(Plan, RunRefusesViewsThatDoNotFit) {
  const auto with = [](auto change) {
    Call call(problem({5, 3}));
    change(call);
    return call.run();
  };
  EXPECT_EQ(with([](Call&) {}), ErrorCode::kInternal) << "the call as it is must pass";
  EXPECT_EQ(with([](Call& c) { c.in.q.shape = {7, 4, 64}; }), ErrorCode::kCuSeqlensEnd);
  EXPECT_EQ(with([](Call& c) { c.in.q.shape = {9, 4, 64}; }), ErrorCode::kCuSeqlensEnd);
  EXPECT_EQ(with([](Call& c) { c.in.k.shape = {8, 4, 64}; }), ErrorCode::kShapeMismatch);
  EXPECT_EQ(with([](Call& c) { c.in.v.shape = {8, 128}; }), ErrorCode::kShapeMismatch);
  EXPECT_EQ(with([](Call& c) { c.out.out.shape = {8, 4, 32}; }), ErrorCode::kShapeMismatch);
  EXPECT_EQ(with([](Call& c) { c.in.q.strides[2] = Elements(2); }), ErrorCode::kStrideUnsupported);
  EXPECT_EQ(with([](Call& c) { c.in.v.dtype = DType::kBF16; }), ErrorCode::kDtypeMismatch);
  EXPECT_EQ(with([](Call& c) {
              c.in.k.device = {DeviceKind::kCuda, 0};
            }),
            ErrorCode::kDeviceMismatch);
  EXPECT_EQ(with([](Call& c) { c.in.k.data = nullptr; }), ErrorCode::kTensorMissing);
  EXPECT_EQ(with([](Call& c) { c.workspace.size = Bytes(63); }), ErrorCode::kWorkspaceTooSmall);
  EXPECT_EQ(with([](Call& c) { c.workspace.data = nullptr; }), ErrorCode::kWorkspaceTooSmall);
  EXPECT_EQ(with([](Call& c) { c.p.options.lse = Lse::kYes; }), ErrorCode::kTensorMissing);
  EXPECT_EQ(with([](Call& c) { c.p.options.sinks = true; }), ErrorCode::kTensorMissing);
  EXPECT_EQ(with([](Call& c) { c.p.options.bias = true; }), ErrorCode::kTensorMissing);
}

TEST(Plan, RowsBeyondTheLastSequenceAreAnErrorUnlessAskedFor) {
  Call call(problem({5}));
  EXPECT_EQ(call.run(), ErrorCode::kCuSeqlensEnd);
  call.p.options.rows_beyond = RowsBeyond::kZero;
  EXPECT_EQ(call.run(), ErrorCode::kInternal);
  call.p = problem({9});
  call.p.options.rows_beyond = RowsBeyond::kZero;
  EXPECT_EQ(call.run(), ErrorCode::kCuSeqlensEnd) << "fewer rows than tokens is never right";
}

}  // namespace
}  // namespace foveal
