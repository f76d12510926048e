// Lengths and cu_seqlens: every source gives the same sequences, every breach its own error.
#include <foveal/attention/metadata.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace foveal {
namespace {

template <class Int>
ErrorCode cu_error(std::vector<Int> cu) {
  const auto r = PackedSeqs::from_cu_seqlens(std::span<const Int>(cu));
  return r ? ErrorCode::kInternal : r.error().code();
}

ErrorCode length_error(std::vector<std::int64_t> lengths) {
  const auto r = PackedSeqs::from_lengths(std::span<const std::int64_t>(lengths));
  return r ? ErrorCode::kInternal : r.error().code();
}

TEST(PackedSeqs, AllSourcesAgree) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int64_t> lengths(random() % 20);
    std::vector<std::int32_t> cu32{0};
    std::vector<std::int64_t> cu64{0};
    std::int64_t longest = 0;
    std::int64_t squares = 0;
    for (auto& n : lengths) {
      n = random() % 4 == 0 ? 0 : static_cast<std::int64_t>(random() % 1000);
      cu64.push_back(cu64.back() + n);
      cu32.push_back(static_cast<std::int32_t>(cu64.back()));
      longest = std::max(longest, n);
      squares += n * n;
    }
    const auto a = PackedSeqs::from_lengths(std::span<const std::int64_t>(lengths)).value();
    const auto b = PackedSeqs::from_cu_seqlens(std::span<const std::int32_t>(cu32)).value();
    const auto c = PackedSeqs::from_cu_seqlens(std::span<const std::int64_t>(cu64)).value();
    const auto d =
        PackedSeqs::from_cu_seqlens(
            ConstTensorView(cu64.data(), DType::kI64, {static_cast<std::int64_t>(cu64.size())}))
            .value();
    EXPECT_TRUE(a == b && b == c && c == d);
    EXPECT_EQ(a.max_seqlen().v, longest);
    EXPECT_EQ(a.sum_sq(), squares);
    EXPECT_EQ(a.total_tokens().v, cu64.back());
    EXPECT_EQ(a.size(), static_cast<std::int64_t>(lengths.size()));
  }
}

TEST(PackedSeqs, EmptyBatchesAreValid) {
  EXPECT_EQ(PackedSeqs().size(), 0);
  const std::vector<std::int32_t> none{0};
  EXPECT_EQ(
      PackedSeqs::from_cu_seqlens(std::span<const std::int32_t>(none)).value().total_tokens().v, 0);
  const auto equal = PackedSeqs::from_equal({.batch = 3, .seq_len = Tokens(0)}).value();
  EXPECT_EQ(equal.size(), 3);
  EXPECT_EQ(equal.max_seqlen().v, 0);
}

TEST(PackedSeqs, NamesEveryBreach) {
  EXPECT_EQ(cu_error<std::int32_t>({}), ErrorCode::kCuSeqlensShape);
  EXPECT_EQ(cu_error<std::int32_t>({1, 2}), ErrorCode::kCuSeqlensStart);
  EXPECT_EQ(cu_error<std::int32_t>({0, 5, 3}), ErrorCode::kCuSeqlensDecrease);
  EXPECT_EQ(cu_error<std::int64_t>({0, std::int64_t{1} << 31}), ErrorCode::kTooManyTokens);
  EXPECT_EQ(cu_error<std::int64_t>({0, std::numeric_limits<std::int64_t>::max(),
                                    std::numeric_limits<std::int64_t>::min()}),
            ErrorCode::kCuSeqlensDecrease);
  EXPECT_EQ(length_error({3, -1}), ErrorCode::kLengthNegative);
  EXPECT_EQ(length_error({std::numeric_limits<std::int64_t>::max(), 5}), ErrorCode::kTooManyTokens);
  EXPECT_EQ(length_error({(std::int64_t{1} << 31) - 1, 1}), ErrorCode::kTooManyTokens);
  EXPECT_TRUE(PackedSeqs::from_lengths(
      std::span<const std::int64_t>(std::vector<std::int64_t>{(std::int64_t{1} << 31) - 1})));
  EXPECT_FALSE(PackedSeqs::from_equal({.batch = -1, .seq_len = Tokens(1)}));
  EXPECT_FALSE(PackedSeqs::from_equal({.batch = 2, .seq_len = Tokens(-1)}));
  EXPECT_FALSE(PackedSeqs::from_equal({.batch = 70000, .seq_len = Tokens(70000)}));
}

TEST(PackedSeqs, ReadsStridedViewsAndRefusesOtherDtypes) {
  const std::vector<std::int32_t> strided{0, -9, 4, -9, 9};
  Strides strides{};
  strides[0] = Elements(2);
  const auto s =
      PackedSeqs::from_cu_seqlens(ConstTensorView(strided.data(), DType::kI32, {3}, strides))
          .value();
  EXPECT_EQ(s[1].length.v, 5);
  for (const DType dtype : {DType::kF32, DType::kU32, DType::kBool, DType::kI16}) {
    EXPECT_EQ(
        PackedSeqs::from_cu_seqlens(ConstTensorView(strided.data(), dtype, {3})).error().code(),
        ErrorCode::kCuSeqlensDtype);
  }
  EXPECT_EQ(PackedSeqs::from_cu_seqlens(ConstTensorView(strided.data(), DType::kI32, {1, 3}))
                .error()
                .code(),
            ErrorCode::kShapeMismatch);
  const ConstTensorView on_gpu(strided.data(), DType::kI32, {3}, {DeviceKind::kCuda, 0});
  EXPECT_EQ(PackedSeqs::from_cu_seqlens(on_gpu).error().code(), ErrorCode::kDeviceMismatch);
  const ConstTensorView null(nullptr, DType::kI32, {3});
  EXPECT_EQ(PackedSeqs::from_cu_seqlens(null).error().code(), ErrorCode::kTensorMissing);
  const ConstTensorView negative(strided.data(), DType::kI32, {-3});
  EXPECT_EQ(PackedSeqs::from_cu_seqlens(negative).error().code(), ErrorCode::kShapeMismatch);
}

}  // namespace
}  // namespace foveal
