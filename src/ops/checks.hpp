// Checks that every op makes of its views before the work is split. Private to src/ops.
#pragma once

#include "ops/exec.hpp"

#include <foveal/error.hpp>
#include <foveal/tensor_view.hpp>

#include <string>
#include <string_view>

namespace foveal::ops {

// The device that an op was asked for can be served by this build: else DeviceUnavailable.
Status check_device(const Exec& exec);

Error shape_mismatch(std::string_view tensor, const Shape& got, std::string_view expected);

// f32 or bf16: else DtypeUnsupported.
Status check_float(std::string_view tensor, DType dtype);
// DtypeMismatch unless `got` is `expected`, which `other` has.
struct SameDtype {
  DType got;
  std::string_view other;
  DType expected;
};
Status check_dtype(std::string_view tensor, SameDtype dtypes);

// `view` lies on the device of `exec` and its last dimension is contiguous: DeviceMismatch,
// StrideUnsupported.
Status check_layout(const Exec& exec, std::string_view tensor, const ConstTensorView& view);
// The above, and rank 2 with `rows` and `columns`: ShapeMismatch.
struct Extent2 {
  std::int64_t rows;
  std::int64_t columns;
};
Status check_matrix(const Exec& exec, std::string_view tensor, const ConstTensorView& view,
                    Extent2 extent);

// Elements between the starts of neighbouring rows of a matrix.
inline std::int64_t row_stride(const ConstTensorView& view) {
  return view.strides[0].v;
}

}  // namespace foveal::ops
