// What one instruction set's unit offers: a table of plain functions over raw rows. This header is
// all that the units and the rest of ops share; it includes no container, so that a unit built with
// an instruction set's flags leaves no inline function that the linker could hand to the whole
// program.
#pragma once

#include "ops/activation.hpp"

#include <cstdint>

namespace foveal::ops::cpu {

// A block of a linear layer: rows [0, rows) and columns [0, columns) of the output, whole K. All
// pointers stand at the block's first row and column. Strides are in elements.
struct LinearBlock {
  const float* in = nullptr;  // (rows, k) f32; bf16 inputs are widened before
  std::int64_t in_stride = 0;
  std::int64_t rows = 0;
  std::int64_t k = 0;
  std::int64_t columns = 0;          // valid ones; packed panels are padded with zeros
  const void* weights = nullptr;     // packed panels, f32 or bf16 by the function that is called
  const void* up_weights = nullptr;  // panels of the gated MLP's factor; may be null
  // Scratch of rows * (columns rounded up to whole panels) values, 64-byte aligned; twice that with
  // up_weights.
  float* sums = nullptr;
  Activation activation = Activation::kNone;
  const float* bias = nullptr;      // (columns), may be null
  const float* up_bias = nullptr;   // (columns), may be null
  const float* scale = nullptr;     // (columns), may be null
  const float* residual = nullptr;  // (rows, columns), may be null, may be `out`
  std::int64_t residual_stride = 0;
  float* out_f32 = nullptr;  // (rows, columns); exactly one of the two outputs is set
  std::uint16_t* out_bf16 = nullptr;
  std::int64_t out_stride = 0;
};

// One row of n values in one of two dtypes: exactly one pointer is set.
struct ConstRow {
  const float* f32 = nullptr;
  const std::uint16_t* bf16 = nullptr;
};
struct Row {
  float* f32 = nullptr;
  std::uint16_t* bf16 = nullptr;
};

struct NormRow {
  ConstRow in;
  Row out;  // may be `in`
  std::int64_t n = 0;
  const float* weight = nullptr;  // (n), may be null
  const float* bias = nullptr;    // (n), may be null
  float eps = 0;
};

struct KernelTable {
  int panel_columns = 0;  // columns of the output in one packed panel
  int tile_rows = 0;      // rows of the largest register tile: blocks of a multiple waste nothing
  std::int64_t stretch = 0;  // of K: a block reads its rows one stretch after the other

  void (*linear_f32)(const LinearBlock&) = nullptr;
  void (*linear_bf16)(const LinearBlock&) = nullptr;
  // rows (count, k) f32 of the weight, count <= panel_columns -> one panel of k * panel_columns
  // elements.
  void (*pack_f32)(const float* rows, std::int64_t count, std::int64_t k, float* panel) = nullptr;
  void (*pack_bf16)(const float* rows, std::int64_t count, std::int64_t k,
                    std::uint16_t* panel) = nullptr;

  void (*layer_norm)(const NormRow&) = nullptr;
  void (*rms_norm)(const NormRow&) = nullptr;

  // In place on one head of n values; cosine and sine (n).
  void (*rope_half)(Row x, const float* cosine, const float* sine, std::int64_t n) = nullptr;
  void (*rope_interleaved)(Row x, const float* cosine, const float* sine, std::int64_t n) = nullptr;

  void (*convert)(ConstRow in, Row out, std::int64_t n) = nullptr;
  void (*add)(float* sum, ConstRow value, std::int64_t n) = nullptr;     // sum += value
  void (*scale)(float* values, float factor, std::int64_t n) = nullptr;  // values *= factor
};

extern const KernelTable kGenericKernels;
#if defined(FOVEAL_OPS_AVX512)
extern const KernelTable kAvx512Kernels;
#endif

}  // namespace foveal::ops::cpu
