// Moves and sums of rows against plain loops.
#include "ops/rows.hpp"

#include "ops/support.hpp"

namespace foveal::ops {
namespace {

using ops_test::EveryIsa;
using ops_test::Matrix;

class Rows : public EveryIsa {};
FOVEAL_FOR_EVERY_ISA(Rows);

TEST_P(Rows, ConvertRoundsToNearestEvenAndKeepsNan) {
  for (const std::int64_t n : {1, 5, 16, 33, 100}) {
    Matrix f32 = Matrix::random(DType::kF32, 5, n, 1, 1e3F);
    const float specials[] = {
        std::numeric_limits<float>::quiet_NaN(),
        std::bit_cast<float>(0x7F800001U),  // a NaN whose payload truncates to 0
        std::numeric_limits<float>::infinity(),  -std::numeric_limits<float>::max(), 1e-40F, -0.0F,
        std::bit_cast<float>(0x3F808000U),   // half way, even below
        std::bit_cast<float>(0x3F818000U)};  // half way, even above
    for (std::int64_t i = 0; i < 5 * n && i < 8; ++i) {
      f32.set(i / n, i % n, specials[i]);
    }
    Matrix bf16(DType::kBF16, 5, n, 11);
    ASSERT_TRUE(convert(exec(), f32.view(), bf16.view()));
    EXPECT_TRUE(bf16.guards_intact());
    Matrix back(DType::kF32, 5, n);
    ASSERT_TRUE(convert(exec(), bf16.view(), back.view()));
    EXPECT_TRUE(back.guards_intact());
    Matrix copy(DType::kF32, 5, n);
    ASSERT_TRUE(convert(exec(), f32.view(), copy.view()));
    EXPECT_TRUE(copy.equals(f32));
    for (std::int64_t r = 0; r < 5; ++r) {
      for (std::int64_t c = 0; c < n; ++c) {
        const float want = bf16_to_f32(f32_to_bf16(f32.at(r, c)));
        EXPECT_EQ(std::bit_cast<std::uint32_t>(back.at(r, c)), std::bit_cast<std::uint32_t>(want));
      }
    }
  }
}

TEST_P(Rows, GatherMovesGroupsOfRows) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const std::int64_t group : {1, 4}) {
      const Matrix in = Matrix::random(dtype, 6 * group, 37, 2);
      const std::vector<std::int32_t> index{5, 0, 3, 3, 1};
      Matrix out(dtype, 5 * group, 37, 2);
      ASSERT_TRUE(gather_rows(exec(), in.view(), index, group, out.view()));
      EXPECT_TRUE(out.guards_intact());
      for (std::int64_t r = 0; r < 5 * group; ++r) {
        EXPECT_TRUE(
            out.row_equals(r, in, index[static_cast<std::size_t>(r / group)] * group + r % group));
      }
    }
  }
}

TEST_P(Rows, MeanSkipsTheFirstRowsOfEachSequence) {
  const std::vector<std::int64_t> lengths{4, 0, 1, 300, 2};
  const auto seqs = PackedSeqs::from_lengths(lengths);
  ASSERT_TRUE(seqs);
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const std::int64_t skip : {0, 1}) {
      const Matrix in = Matrix::random(dtype, 307, 50, 3);
      Matrix out(DType::kF32, 5, 50, 3);
      ASSERT_TRUE(mean_rows(exec(), in.view(), *seqs, Tokens(skip), out.view()));
      EXPECT_TRUE(out.guards_intact());
      for (std::int64_t b = 0; b < 5; ++b) {
        const std::int64_t begin = (*seqs)[b].begin.v + skip;
        const std::int64_t end = (*seqs)[b].begin.v + (*seqs)[b].length.v;
        for (std::int64_t c = 0; c < 50; ++c) {
          double sum = 0;
          for (std::int64_t r = begin; r < end; ++r) {
            sum += static_cast<double>(in.at(r, c));
          }
          const double want = end > begin ? sum / static_cast<double>(end - begin) : 0.0;
          EXPECT_NEAR(static_cast<double>(out.at(b, c)), want, 2e-6) << "sequence " << b;
        }
      }
    }
  }
}

TEST_P(Rows, AddSumsInPlace) {
  const Matrix before = Matrix::random(DType::kF32, 400, 101, 4);
  const Matrix more = Matrix::random(DType::kF32, 400, 101, 5);
  Matrix sum = before;
  ASSERT_TRUE(add_rows(exec(), sum.view(), more.view()));
  EXPECT_TRUE(sum.guards_intact());
  for (std::int64_t r = 0; r < 400; ++r) {
    for (std::int64_t c = 0; c < 101; ++c) {
      ASSERT_EQ(sum.at(r, c), before.at(r, c) + more.at(r, c));
    }
  }
}

TEST_P(Rows, AssembleInterleavesPrefixAndPatches) {
  const std::vector<std::int64_t> counts{3, 0, 5};
  const auto seqs = PackedSeqs::from_lengths(counts);
  ASSERT_TRUE(seqs);
  const Matrix patches = Matrix::random(DType::kF32, 8, 21, 6);
  const Matrix first = Matrix::random(DType::kF32, 3, 21, 7);
  const Matrix third = Matrix::random(DType::kF32, 5, 21, 8);
  for (const std::int64_t prefix_rows : {0, 1, 5}) {
    for (const int with : {0, 1, 2}) {  // positions: none, for all, for all but the last image
      const Matrix prefix = Matrix::random(DType::kF32, prefix_rows, 21, 9);
      Matrix out(DType::kF32, 8 + 3 * prefix_rows, 21, 7);
      const std::vector<ConstTensorView> positions{first.view(),
                                                   {nullptr, DType::kF32, {0, 21}},
                                                   with == 2 ? ConstTensorView() : third.view()};
      AssembleArgs args{.prefix = prefix.view(),
                        .patches = patches.view(),
                        .patch_seqs = *seqs,
                        .out = out.view()};
      if (prefix_rows == 0) {
        args.prefix = {};
      }
      if (with != 0) {
        args.positions = positions;
      }
      ASSERT_TRUE(assemble_tokens(exec(), args));
      EXPECT_TRUE(out.guards_intact());
      std::int64_t row = 0;
      for (std::int64_t b = 0; b < 3; ++b) {
        for (std::int64_t r = 0; r < prefix_rows; ++r, ++row) {
          EXPECT_TRUE(out.row_equals(row, prefix, r));
        }
        for (std::int64_t r = 0; r < counts[static_cast<std::size_t>(b)]; ++r, ++row) {
          for (std::int64_t c = 0; c < 21; ++c) {
            float want = patches.at((*seqs)[b].begin.v + r, c);
            if (with != 0 && b == 0) {
              want += first.at(r, c);
            }
            if (with == 1 && b == 2) {
              want += third.at(r, c);
            }
            EXPECT_EQ(out.at(row, c), want);
          }
        }
      }
    }
  }
}

TEST(RowsErrors, NameTheTensorThatDoesNotFit) {
  ThreadPool pool(1);
  const Exec exec{.device = {}, .pool = &pool, .isa = CpuIsa::kGeneric};
  Matrix a(DType::kF32, 2, 3);
  Matrix b(DType::kF32, 3, 3);
  Matrix half(DType::kBF16, 2, 3);
  const std::vector<std::int32_t> index{0};
  const std::vector<std::int64_t> lengths{2};
  const auto seqs = PackedSeqs::from_lengths(lengths);
  ASSERT_TRUE(seqs);
  EXPECT_EQ(convert(exec, a.view(), b.view()).error().code(), ErrorCode::kShapeMismatch);
  EXPECT_EQ(add_rows(exec, a.view(), b.view()).error().code(), ErrorCode::kShapeMismatch);
  EXPECT_EQ(add_rows(exec, a.view(), half.view()).error().code(), ErrorCode::kDtypeMismatch);
  EXPECT_EQ(gather_rows(exec, a.view(), index, 1, b.view()).error().code(),
            ErrorCode::kShapeMismatch);
  EXPECT_EQ(mean_rows(exec, b.view(), *seqs, Tokens(0), a.view()).error().code(),
            ErrorCode::kShapeMismatch);
  AssembleArgs args{.patches = a.view(), .patch_seqs = *seqs, .out = b.view()};
  EXPECT_EQ(assemble_tokens(exec, args).error().field("tensor")->text(), "out");
  const std::vector<ConstTensorView> positions{b.view()};
  args.out = a.view();
  args.positions = positions;
  EXPECT_EQ(assemble_tokens(exec, args).error().field("tensor")->text(), "positions");
}

}  // namespace
}  // namespace foveal::ops
