// The strict adapter: what is served, and each breach with its id, its values and its fix.
#include <gtest/gtest.h>
#include <foveal/attention/attention.hpp>

#include <array>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace foveal {
namespace {

constexpr std::int64_t kHeads = 2;
constexpr std::int64_t kDim = 8;

// A call that works: sequences of 3, 0 and 5 tokens. Tests break one thing each.
struct Call {
  Context context = Context::create({.threads = 1}).value();
  std::vector<float> q, k, v, out;
  std::vector<std::int32_t> cu_seqlens{0, 3, 3, 8};
  std::vector<std::int32_t> lengths{3, 0, 5};
  AttentionParts parts;
  AttentionOptions options;
  Shape shape{8, kHeads, kDim};

  Call() {
    std::mt19937 random(3);
    std::uniform_real_distribution<float> value(-1, 1);
    for (std::vector<float>* x : {&q, &k, &v}) {
      x->resize(static_cast<std::size_t>(8 * kHeads * kDim));
      for (float& f : *x) {
        f = value(random);
      }
    }
    out.assign(q.size(), std::numeric_limits<float>::quiet_NaN());
    parts.cu_seqlens = {cu_seqlens.data(), DType::kI32, {4}};
    parts.sequence_lengths = ConstTensorView(lengths.data(), DType::kI32, {3});
    parts.max_seqlen = 5;
  }
  QkvView in() const {
    return {.q = {q.data(), DType::kF32, shape},
            .k = {k.data(), DType::kF32, shape},
            .v = {v.data(), DType::kF32, shape}};
  }
  Status operator()() {
    return attention_from_parts(context, in(), parts, options,
                                {.out = {out.data(), DType::kF32, {8, kHeads, kDim}}});
  }
  Error error() {
    const Status status = (*this)();
    EXPECT_FALSE(status.has_value());
    for (const float f : out) {
      EXPECT_NE(f, f) << "a refused call wrote to out";
    }
    return status ? Error(ErrorCode::kInternal) : status.error();
  }
};

std::string text(const Error& error, std::string_view field) {
  const ErrorField* f = error.field(field);
  return f != nullptr ? f->text() : "no field " + std::string(field);
}

TEST(AttentionFromParts, EqualsTheCallByPlan) {
  Call call;
  ASSERT_TRUE(call());
  const PackedSeqs seqs =
      PackedSeqs::from_lengths(std::span<const std::int32_t>(call.lengths)).value();
  const AttentionPlan plan = call.context
                                 .plan({.heads = {.num_heads = kHeads, .head_dim = kDim},
                                        .q_seqs = seqs,
                                        .k_seqs = seqs,
                                        .options = {},
                                        .dtype = DType::kF32,
                                        .device = {}})
                                 .value();
  std::vector<float> want(call.out.size(), std::numeric_limits<float>::quiet_NaN());
  ASSERT_TRUE(
      call.context.attention(plan, call.in(), {.out = {want.data(), DType::kF32, call.shape}}));
  EXPECT_EQ(call.out, want);
}

TEST(AttentionFromParts, AsksForTheLengthsAndThenForTheMaximum) {
  Call call;
  call.parts.sequence_lengths.reset();
  call.parts.max_seqlen.reset();
  EXPECT_EQ(call.error().code(), ErrorCode::kSequenceLengthsMissing);
  call.parts.sequence_lengths = ConstTensorView(call.lengths.data(), DType::kI32, {3});
  const Error error = call.error();
  EXPECT_EQ(error.code(), ErrorCode::kMaxSeqlenMissing);
  EXPECT_EQ(text(error, "sequences"), "3");
  EXPECT_EQ(text(error, "longest"), "5");
  EXPECT_NE(error.fix().find("max_seqlen=5"), std::string::npos) << error.fix();
}

TEST(AttentionFromParts, RefusesAMaximumBelowTheLongestAndTakesALargerOne) {
  Call call;
  for (const std::int64_t max_seqlen : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{4}}) {
    call.parts.max_seqlen = max_seqlen;
    const Error error = call.error();
    EXPECT_EQ(error.code(), ErrorCode::kMaxSeqlenTooSmall) << max_seqlen;
    EXPECT_EQ(text(error, "max_seqlen"), std::to_string(max_seqlen));
    EXPECT_EQ(text(error, "longest"), "5");
    EXPECT_EQ(text(error, "index"), "2");
  }
  call.parts.max_seqlen = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(call());
}

TEST(AttentionFromParts, LengthsThatDisagreeWithTheOffsetsAreNamedAtEveryPosition) {
  for (std::size_t i = 0; i < 3; ++i) {
    Call call;
    call.parts.max_seqlen = 100;
    const std::int32_t implied = call.lengths[i];
    call.lengths[i] += 1;
    const Error error = call.error();
    EXPECT_EQ(error.code(), ErrorCode::kLengthsDisagree);
    EXPECT_EQ(text(error, "index"), std::to_string(i));
    EXPECT_EQ(text(error, "length"), std::to_string(implied + 1));
    EXPECT_EQ(text(error, "implied"), std::to_string(implied));
  }
}

TEST(AttentionFromParts, MoreOrFewerLengthsThanSequencesDisagreeUnlessTheyAreEmpty) {
  Call fewer;
  fewer.parts.sequence_lengths = ConstTensorView(fewer.lengths.data(), DType::kI32, {2});
  EXPECT_EQ(fewer.error().code(), ErrorCode::kLengthsDisagree);
  Call more;
  more.lengths = {3, 0, 5, 1};
  more.parts.sequence_lengths = ConstTensorView(more.lengths.data(), DType::kI32, {4});
  const Error error = more.error();
  EXPECT_EQ(error.code(), ErrorCode::kLengthsDisagree);
  EXPECT_EQ(text(error, "index"), "3");
  Call padded;  // to the size of a bucket, as hosts do
  padded.lengths = {3, 0, 5, 0, 0, 0, 0, 0};
  padded.parts.sequence_lengths = ConstTensorView(padded.lengths.data(), DType::kI32, {8});
  EXPECT_TRUE(padded());
}

template <class Int>
void expect_served(DType dtype, const Shape& shape) {
  Call call;
  const std::array<Int, 3> lengths{3, 0, 5};
  call.parts.sequence_lengths = ConstTensorView(lengths.data(), dtype, shape);
  const Status status = call();
  EXPECT_TRUE(status) << dtype_name(dtype) << " " << shape.text() << ": "
                      << status.error().describe();
}

TEST(AttentionFromParts, TakesLengthsOfEveryShapeAndIntegerDtype) {
  for (const Shape& shape : {Shape{3}, Shape{3, 1, 1, 1}, Shape{1, 3}}) {
    expect_served<std::int8_t>(DType::kI8, shape);
    expect_served<std::int16_t>(DType::kI16, shape);
    expect_served<std::int32_t>(DType::kI32, shape);
    expect_served<std::int64_t>(DType::kI64, shape);
    expect_served<std::uint8_t>(DType::kU8, shape);
    expect_served<std::uint16_t>(DType::kU16, shape);
    expect_served<std::uint32_t>(DType::kU32, shape);
    expect_served<std::uint64_t>(DType::kU64, shape);
  }
}

TEST(AttentionFromParts, TakesStridedLengths) {
  Call call;
  const std::array<std::int64_t, 6> lengths{3, -7, 0, -7, 5, -7};
  Strides strides{};
  strides[0] = Elements(2);
  call.parts.sequence_lengths = ConstTensorView(lengths.data(), DType::kI64, {3}, strides);
  EXPECT_TRUE(call());
}

TEST(AttentionFromParts, RefusesLengthsOfOtherShapesDtypesAndDevices) {
  Call call;
  for (const Shape& shape : {Shape{3, 1}, Shape{1, 1, 3}, Shape{1, 3, 1, 1}, Shape{}}) {
    call.parts.sequence_lengths = ConstTensorView(call.lengths.data(), DType::kI32, shape);
    EXPECT_EQ(call.error().code(), ErrorCode::kShapeMismatch) << shape.text();
  }
  for (const DType dtype : {DType::kF32, DType::kBool, DType::kF16}) {
    call.parts.sequence_lengths = ConstTensorView(call.lengths.data(), dtype, {3});
    EXPECT_EQ(call.error().code(), ErrorCode::kDtypeUnsupported) << dtype_name(dtype);
  }
  call.parts.sequence_lengths =
      ConstTensorView(call.lengths.data(), DType::kI32, {3}, {.kind = DeviceKind::kCuda});
  EXPECT_EQ(call.error().code(), ErrorCode::kDeviceMismatch);
  call.parts.sequence_lengths = ConstTensorView(nullptr, DType::kI32, {3});
  EXPECT_EQ(call.error().code(), ErrorCode::kTensorMissing);
  EXPECT_EQ(call.error().fix(), "pass the data of sequence_lengths");
  const std::array<std::int64_t, 3> negative{3, -1, 6};
  call.parts.sequence_lengths = ConstTensorView(negative.data(), DType::kI64, {3});
  EXPECT_EQ(call.error().code(), ErrorCode::kLengthNegative);
}

TEST(AttentionFromParts, RefusesOffsetsThatAreNone) {
  const auto code = [](std::vector<std::int32_t> cu_seqlens) {
    Call call;
    call.cu_seqlens = std::move(cu_seqlens);
    call.parts.cu_seqlens = {
        call.cu_seqlens.data(), DType::kI32, {static_cast<std::int64_t>(call.cu_seqlens.size())}};
    return call.error().code();
  };
  EXPECT_EQ(code({}), ErrorCode::kCuSeqlensShape);
  EXPECT_EQ(code({1, 3, 3, 8}), ErrorCode::kCuSeqlensStart);
  EXPECT_EQ(code({0, 3, 2, 8}), ErrorCode::kCuSeqlensDecrease);
  Call unsigned_offsets;
  unsigned_offsets.parts.cu_seqlens.dtype = DType::kU32;
  EXPECT_EQ(unsigned_offsets.error().code(), ErrorCode::kCuSeqlensDtype);
  Call ends_early;
  ends_early.cu_seqlens = {0, 3, 3, 7};
  ends_early.lengths = {3, 0, 4};
  EXPECT_EQ(ends_early.error().code(), ErrorCode::kCuSeqlensEnd);
}

TEST(AttentionFromParts, RefusesTensorsOfAnotherRankOrShape) {
  Call call;
  call.shape = {8, kHeads * kDim};
  const Error error = call.error();
  EXPECT_EQ(error.code(), ErrorCode::kShapeMismatch);
  EXPECT_EQ(text(error, "tensor"), "q");
}

TEST(AttentionFromParts, ServesAnEmptyBatch) {
  const Context context = Context::create({.threads = 1}).value();
  const std::array<std::int32_t, 1> cu_seqlens{0};
  const Shape shape{0, kHeads, kDim};
  const ConstTensorView none(nullptr, DType::kF32, shape);
  const Status status =
      attention_from_parts(context, {.q = none, .k = none, .v = none},
                           {.cu_seqlens = {cu_seqlens.data(), DType::kI32, {1}},
                            .sequence_lengths = ConstTensorView(nullptr, DType::kI32, {0}),
                            .max_seqlen = 0},
                           {}, {.out = {nullptr, DType::kF32, shape}});
  EXPECT_TRUE(status) << status.error().describe();
}

}  // namespace
}  // namespace foveal
