// What an instruction set provides to resize.cpp: one pass along each axis over (rows, columns, 3)
// uint8 with fixed-point weights. One translation unit a set; no std:: containers in them, so that
// no code built for a newer CPU can be linked into the rest.
#pragma once

#include <cstddef>
#include <cstdint>

namespace foveal::resize {

// A kernel may read this many bytes past the last source pixel of an output; their weights are 0.
inline constexpr std::ptrdiff_t kOverread = 32;
// Rows of weights are padded with zeros to a multiple of this.
inline constexpr int kTapGroup = 8;

// One axis: output i = clamp((2^(bits-1) + sum_j weight[i][j] * source[first[i] + j]) >> bits).
struct AxisView {
  int outputs;                  // pixels
  int stride;                   // of the weights, a multiple of kTapGroup
  int bits;                     // 1..22
  const std::int32_t* first;    // (outputs)
  const std::int32_t* count;    // (outputs) taps
  const std::int32_t* weights;  // (outputs, stride)
  // The same in 16-bit parts for multiply-add of pairs: weight = high * 2^15 + low. `high` is null
  // where all weights fit into `low`, which is signed then and holds 0..2^15-1 else.
  const std::int16_t* low;
  const std::int16_t* high;
};

struct KernelTable {
  const char* name;
  // in: `rows` rows, in_stride bytes apart; out: (rows, axis.outputs, 3), contiguous.
  void (*horizontal)(const AxisView& axis, const std::uint8_t* in, std::ptrdiff_t in_stride,
                     int rows, std::uint8_t* out);
  // in: rows of row_bytes, in_stride bytes apart; out: (axis.outputs, row_bytes), contiguous.
  void (*vertical)(const AxisView& axis, const std::uint8_t* in, std::ptrdiff_t in_stride,
                   std::ptrdiff_t row_bytes, std::uint8_t* out);
};

const KernelTable& generic_kernels();
// nullptr where the compiler does not build for it.
const KernelTable* avx2_kernels();

}  // namespace foveal::resize
