// Splitting work on rows over the pool, and rows of views for the kernels. Private to src/ops.
#pragma once

#include "ops/cpu/kernels.hpp"
#include "ops/exec.hpp"

#include <foveal/tensor_view.hpp>

#include <algorithm>

namespace foveal::ops::cpu {

// Values that a task should touch at least: some 10 us of work, against about 1 us to hand a task
// out.
inline constexpr std::int64_t kTaskValues = 32 * 1024;

// Calls work(first, last) for ranges of rows of `row_values` values each that cover [0, rows) in
// order.
template <class Work>
void for_row_ranges(const Exec& exec, std::int64_t rows, std::int64_t row_values, Work work) {
  const std::int64_t step =
      std::max<std::int64_t>(1, kTaskValues / std::max<std::int64_t>(1, row_values));
  exec.pool->run((rows + step - 1) / step, [&](std::int64_t index, int /*worker*/) {
    work(index * step, std::min(rows, (index + 1) * step));
  });
}

inline ConstRow row_at(const ConstTensorView& view, std::int64_t offset) {
  return view.dtype == DType::kF32 ? ConstRow{.f32 = view.as<float>() + offset}
                                   : ConstRow{.bf16 = view.as<std::uint16_t>() + offset};
}
inline Row row_at(const TensorView& view, std::int64_t offset) {
  return view.dtype == DType::kF32 ? Row{.f32 = view.as<float>() + offset}
                                   : Row{.bf16 = view.as<std::uint16_t>() + offset};
}

}  // namespace foveal::ops::cpu
