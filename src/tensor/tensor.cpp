#include "tensor/tensor.hpp"

#include "base/half.hpp"
#include "base/narrow.hpp"

#include <cstring>
#include <limits>

namespace foveal {

Result<Buffer> Buffer::allocate(Bytes size, std::string_view what) {
  Buffer out;
  if (size.v < 0 ||
      size.v > (std::int64_t{1} << 46)) {  // 64 TiB: an overflowed product, not a wish
    return Error(ErrorCode::kOutOfMemory, {{"bytes", size.v}, {"what", what}});
  }
  const auto align = static_cast<std::int64_t>(kBufferAlignment);
  const std::int64_t rounded = (size.v + align - 1) / align * align;
  if (rounded > 0) {
    out.data_.reset(static_cast<std::byte*>(
        std::aligned_alloc(kBufferAlignment, static_cast<std::size_t>(rounded))));
    if (!out.data_) {
      return Error(ErrorCode::kOutOfMemory, {{"bytes", size.v}, {"what", what}});
    }
  }
  out.size_ = size;
  return out;
}

Result<Tensor> Tensor::allocate(DType dtype, const Shape& shape, std::string_view what) {
  long long bytes = dtype_size(dtype).v;
  for (const std::int64_t e : shape.extents()) {
    const auto product = checked_mul(bytes, e);
    if (!product || e < 0) {
      return Error(ErrorCode::kOutOfMemory,
                   {{"bytes", std::numeric_limits<std::int64_t>::max()}, {"what", what}});
    }
    bytes = *product;
  }
  Tensor out;
  FOVEAL_TRY(out.buffer_, Buffer::allocate(Bytes(bytes), what));
  out.dtype_ = dtype;
  out.shape_ = shape;
  return out;
}

void convert_to_f32(const void* from, DType dtype, float* to, std::int64_t n) {
  if (dtype == DType::kF32) {
    if (n > 0) {
      std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(float));
    }
    return;
  }
  const auto* bytes = static_cast<const std::byte*>(from);
  const auto load = [bytes](std::int64_t i) {  // memcpy: mapped files may be unaligned
    std::uint16_t bits = 0;
    std::memcpy(&bits, bytes + 2 * i, sizeof bits);
    return bits;
  };
  if (dtype == DType::kBF16) {
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] = bf16_to_f32(load(i));
    }
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] = f16_to_f32(load(i));
    }
  }
}

void convert_from_f32(const float* from, void* to, DType dtype, std::int64_t n) {
  if (dtype == DType::kF32) {
    if (n > 0) {
      std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(float));
    }
    return;
  }
  auto* bits = static_cast<std::uint16_t*>(to);
  if (dtype == DType::kBF16) {
    for (std::int64_t i = 0; i < n; ++i) {
      bits[i] = f32_to_bf16(from[i]);
    }
  } else {
    for (std::int64_t i = 0; i < n; ++i) {
      bits[i] = f32_to_f16(from[i]);
    }
  }
}

}  // namespace foveal
