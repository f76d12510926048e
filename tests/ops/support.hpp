// What the tests of ops share: the instruction sets of this machine, seeded values, matrices with
// guard zones around every row, and views of them.
#pragma once

#include "base/half.hpp"
#include "ops/exec.hpp"

#include <foveal/tensor_view.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace foveal::ops_test {

class EveryIsa : public testing::TestWithParam<CpuIsa> {
 protected:
  void SetUp() override {
    if (!detect_cpu().has(GetParam())) {
      GTEST_SKIP() << "this machine has no " << isa_name(GetParam());
    }
  }
  Exec exec() { return {.device = {}, .pool = &pool_, .isa = GetParam()}; }
  Exec exec_with(ThreadPool& pool) { return {.device = {}, .pool = &pool, .isa = GetParam()}; }

 private:
  ThreadPool pool_{2};
};

inline std::string isa_test_name(const testing::TestParamInfo<CpuIsa>& info) {
  return std::string(isa_name(info.param));
}

#define FOVEAL_FOR_EVERY_ISA(suite)                                                                \
  INSTANTIATE_TEST_SUITE_P(                                                                        \
      Isa, suite, testing::Values(CpuIsa::kGeneric, CpuIsa::kAvx2, CpuIsa::kAvx512, CpuIsa::kAmx), \
      foveal::ops_test::isa_test_name)

// Rounded to what dtype holds, so that references see the values that the op sees.
inline float rounded(float x, DType dtype) {
  return dtype == DType::kBF16 ? bf16_to_f32(f32_to_bf16(x)) : x;
}

// A (rows, columns) matrix in one allocation. Each row is followed by `gap` guard elements and the
// whole lies between two more guards; guards and unwritten values are NaNs of a known pattern.
class Matrix {
 public:
  Matrix(DType dtype, std::int64_t rows, std::int64_t columns, std::int64_t gap = 5)
      : dtype_(dtype),
        rows_(rows),
        columns_(columns),
        stride_(columns + gap),
        bytes_(static_cast<std::size_t>((kGuard + rows * stride_ + kGuard) * size()),
               std::byte{0xFF}) {}

  static Matrix random(DType dtype, std::int64_t rows, std::int64_t columns, unsigned seed,
                       float spread = 1.0F) {
    Matrix m(dtype, rows, columns);
    std::mt19937 engine(seed);
    std::normal_distribution<float> normal(0.0F, spread);
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t c = 0; c < columns; ++c) {
        m.set(r, c, normal(engine));
      }
    }
    return m;
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  float at(std::int64_t r, std::int64_t c) const {
    const std::byte* p = row_data(r) + c * size();
    if (dtype_ == DType::kF32) {
      float x = 0;
      std::memcpy(&x, p, sizeof x);
      return x;
    }
    std::uint16_t bits = 0;
    std::memcpy(&bits, p, sizeof bits);
    return bf16_to_f32(bits);
  }
  void set(std::int64_t r, std::int64_t c, float x) {
    std::byte* p = row_data(r) + c * size();
    if (dtype_ == DType::kF32) {
      std::memcpy(p, &x, sizeof x);
    } else {
      const std::uint16_t bits = f32_to_bf16(x);
      std::memcpy(p, &bits, sizeof bits);
    }
  }
  TensorView view() {
    return {row_data(0), dtype_, {rows_, columns_}, Strides{Elements(stride_), Elements(1)}};
  }
  ConstTensorView view() const {
    return {row_data(0), dtype_, {rows_, columns_}, Strides{Elements(stride_), Elements(1)}};
  }
  TensorView rows_view(std::int64_t first, std::int64_t count) {
    return {row_data(first), dtype_, {count, columns_}, Strides{Elements(stride_), Elements(1)}};
  }
  // (rows, heads, columns / heads)
  TensorView heads_view(std::int64_t heads) {
    const std::int64_t head_dim = columns_ / heads;
    return {row_data(0),
            dtype_,
            {rows_, heads, head_dim},
            Strides{Elements(stride_), Elements(head_dim), Elements(1)}};
  }
  bool row_equals(std::int64_t r, const Matrix& other, std::int64_t other_row) const {
    return std::memcmp(row_data(r), other.row_data(other_row),
                       static_cast<std::size_t>(columns_ * size())) == 0;
  }
  bool equals(const Matrix& other) const { return bytes_ == other.bytes_; }
  // Nothing outside the rows was written.
  bool guards_intact() const {
    const auto untouched = [this](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin * size(); i < end * size(); ++i) {
        if (bytes_[static_cast<std::size_t>(i)] != std::byte{0xFF}) {
          return false;
        }
      }
      return true;
    };
    bool ok = untouched(0, kGuard);
    for (std::int64_t r = 0; r < rows_; ++r) {
      const std::int64_t begin = kGuard + r * stride_;
      ok = ok && untouched(begin + columns_, begin + stride_);
    }
    return ok && untouched(kGuard + rows_ * stride_, kGuard + rows_ * stride_ + kGuard);
  }

 private:
  static constexpr std::int64_t kGuard = 64;  // elements: more than the widest vector
  std::int64_t size() const { return dtype_size(dtype_).v; }
  std::byte* row_data(std::int64_t r) { return bytes_.data() + (kGuard + r * stride_) * size(); }
  const std::byte* row_data(std::int64_t r) const {
    return bytes_.data() + (kGuard + r * stride_) * size();
  }

  DType dtype_;
  std::int64_t rows_;
  std::int64_t columns_;
  std::int64_t stride_;
  std::vector<std::byte> bytes_;
};

// Half a step of bf16 relative to the value; float outputs add nothing.
inline double output_rounding(DType dtype) {
  return dtype == DType::kBF16 ? 0x1p-8 : 0.0;
}

}  // namespace foveal::ops_test
