// Names and sizes of dtypes, texts of shapes.
#include <foveal/tensor_view.hpp>

namespace foveal {

std::string_view dtype_name(DType dtype) {
  constexpr std::array<std::string_view, 14> kNames{"f64", "f32", "f16", "bf16", "i64",
                                                    "i32", "i16", "i8",  "u8",   "bool",
                                                    "u16", "u32", "u64", "f8"};
  return kNames[static_cast<std::size_t>(dtype)];
}

Bytes dtype_size(DType dtype) {
  constexpr std::array<std::int64_t, 14> kSizes{8, 4, 2, 2, 8, 4, 2, 1, 1, 1, 2, 4, 8, 1};
  return Bytes(kSizes[static_cast<std::size_t>(dtype)]);
}

std::string Shape::text() const {
  std::string out = "(";
  for (int i = 0; i < rank_; ++i) {
    out += (i == 0 ? "" : ", ") + std::to_string((*this)[i]);
  }
  return out + (rank_ == 1 ? ",)" : ")");
}

Strides contiguous_strides(const Shape& shape) {
  Strides out{};
  std::int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {
    out[static_cast<std::size_t>(i)] = Elements(step);
    step *= shape[i] > 0 ? shape[i] : 1;
  }
  return out;
}

}  // namespace foveal
