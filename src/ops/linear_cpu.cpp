// Splits a linear layer into blocks of rows by some panels and hands them to the pool. How it is
// split changes no bit: each output is one sum over K in the kernels' order.
#include "ops/linear_cpu.hpp"

#include "ops/checks.hpp"
#include "ops/cpu/kernels.hpp"

#include <algorithm>
#include <vector>

namespace foveal::ops::cpu {
namespace {

// A stretch of K of a block's rows, which the kernels read again for each panel: it shares a 1 MiB
// L2 with the block's sums and two panels.
constexpr std::int64_t kBlockBytes = 384 * 1024;
// Panels of one block: many save reading rows again, few share the work evenly.
constexpr std::int64_t kMostPanels = 8;
constexpr std::int64_t kFewestPanels = 4;  // what the kernels take at once where rows are few
// Blocks a thread should get, so that the last one to finish is not waited for long.
constexpr std::int64_t kBlocksPerThread = 8;

struct Split {
  std::int64_t row_blocks = 0;
  std::int64_t block_rows = 0;    // at most
  std::int64_t panels = 0;        // in all
  std::int64_t block_panels = 0;  // at most
  std::int64_t column_blocks = 0;
};

Split split_work(const KernelTable& kernels, std::int64_t rows, const LinearWeights& w,
                 int threads) {
  const std::int64_t tile = kernels.tile_rows;
  const std::int64_t row_bytes =
      std::min(w.k(), kernels.stretch) * static_cast<std::int64_t>(sizeof(float));
  const std::int64_t most = std::max<std::int64_t>(1, kBlockBytes / row_bytes / tile) * tile;
  Split s;
  s.row_blocks = (rows + most - 1) / most;
  s.block_rows = (rows + s.row_blocks - 1) / s.row_blocks;
  s.panels = (w.n() + kernels.panel_columns - 1) / kernels.panel_columns;
  s.block_panels = std::clamp(s.row_blocks * s.panels / (kBlocksPerThread * threads),
                              rows > 2 ? std::int64_t{1} : kFewestPanels, kMostPanels);
  s.column_blocks = (s.panels + s.block_panels - 1) / s.block_panels;
  return s;
}

template <class T>
const T* shifted(const T* p, std::int64_t by) {
  return p != nullptr ? p + by : nullptr;
}

}  // namespace

Status linear(const Exec& exec, const LinearArgs& args) {
  const LinearWeights& w = *args.weights;
  const KernelTable& kernels = *w.kernels();
  const std::int64_t rows = args.in.shape[0];
  if (rows == 0) {
    return {};
  }
  const int threads = exec.pool->size();
  const Split split = split_work(kernels, rows, w, threads);
  const bool bf16 = w.compute() == DType::kBF16;
  const std::int64_t width = kernels.panel_columns;
  const std::int64_t element_bytes = dtype_size(w.compute()).v;
  const std::int64_t in_stride = row_stride(args.in);
  const std::int64_t out_stride = row_stride(args.out);

  // bf16 rows are widened once a block of rows and thread; a thread meets the columns of one block
  // in turn.
  Tensor widened;
  std::vector<std::int64_t> widened_block(static_cast<std::size_t>(threads), -1);
  const std::int64_t block_rows = split.block_rows;
  if (bf16) {
    FOVEAL_TRY(widened,
               Tensor::allocate(DType::kF32, {threads, block_rows, w.k()}, "widened rows"));
  }

  const std::int64_t sums_values =
      block_rows * split.block_panels * width * (args.up != nullptr ? 2 : 1);
  FOVEAL_TRY(Tensor sums, Tensor::allocate(DType::kF32, {threads, sums_values}, "sums"));

  const auto task = [&](std::int64_t index, int worker) {
    const std::int64_t row_block = index / split.column_blocks;
    const std::int64_t row = rows * row_block / split.row_blocks;
    const std::int64_t panel = index % split.column_blocks * split.block_panels;
    const std::int64_t column = panel * width;
    const std::int64_t packed_at = panel * width * w.k() * element_bytes;
    LinearBlock b;
    b.rows = rows * (row_block + 1) / split.row_blocks - row;
    b.k = w.k();
    b.columns = std::min(split.block_panels * width, w.n() - column);
    b.weights = w.packed().data<std::byte>() + packed_at;
    b.sums = sums.data<float>() + worker * sums_values;
    b.activation = args.activation;
    b.bias = shifted(w.bias(), column);
    if (args.up != nullptr) {
      b.up_weights = args.up->packed().data<std::byte>() + packed_at;
      b.up_bias = shifted(args.up->bias(), column);
    }
    b.scale = shifted(args.scale, column);
    if (args.residual) {
      b.residual_stride = row_stride(*args.residual);
      b.residual = args.residual->as<float>() + row * b.residual_stride + column;
    }
    b.out_stride = out_stride;
    if (args.out.dtype == DType::kF32) {
      b.out_f32 = args.out.as<float>() + row * out_stride + column;
    } else {
      b.out_bf16 = args.out.as<std::uint16_t>() + row * out_stride + column;
    }
    if (!bf16) {
      b.in = args.in.as<float>() + row * in_stride;
      b.in_stride = in_stride;
      kernels.linear_f32(b);
      return;
    }
    float* wide = widened.data<float>() + worker * block_rows * w.k();
    std::int64_t& have = widened_block[static_cast<std::size_t>(worker)];
    if (have != row_block) {
      for (std::int64_t r = 0; r < b.rows; ++r) {
        kernels.convert({.bf16 = args.in.as<std::uint16_t>() + (row + r) * in_stride},
                        {.f32 = wide + r * w.k()}, w.k());
      }
      have = row_block;
    }
    b.in = wide;
    b.in_stride = w.k();
    kernels.linear_bf16(b);
  };
  exec.pool->run(split.row_blocks * split.column_blocks, task);
  return {};
}

}  // namespace foveal::ops::cpu
