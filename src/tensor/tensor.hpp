// An owned, contiguous, 64-byte aligned array on the CPU, and conversions of whole arrays between
// dtypes.
#pragma once

#include <foveal/error.hpp>
#include <foveal/tensor_view.hpp>

#include <cstdlib>
#include <memory>

namespace foveal {

// Alignment of every buffer: a cache line, which is also what 512-bit loads like best.
inline constexpr std::size_t kBufferAlignment = 64;

// Bytes of raw memory; move-only. Contents are undefined until written.
class Buffer {
 public:
  Buffer() = default;
  // OutOfMemory where they cannot be had; `what` names the use in the error.
  static Result<Buffer> allocate(Bytes size, std::string_view what);

  std::byte* data() { return data_.get(); }
  const std::byte* data() const { return data_.get(); }
  Bytes size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* p) const noexcept {
      std::free(p);
    }  // NOLINT: pairs with aligned_alloc
  };
  std::unique_ptr<std::byte, Free> data_;
  Bytes size_;
};

class Tensor {
 public:
  Tensor() = default;
  static Result<Tensor> allocate(DType dtype, const Shape& shape, std::string_view what);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t numel() const { return shape_.numel(); }
  TensorView view() { return {buffer_.data(), dtype_, shape_}; }
  ConstTensorView view() const { return {buffer_.data(), dtype_, shape_}; }
  template <class T>
  T* data() {
    return reinterpret_cast<T*>(buffer_.data());
  }
  template <class T>
  const T* data() const {
    return reinterpret_cast<const T*>(buffer_.data());
  }

 private:
  Buffer buffer_;
  DType dtype_ = DType::kF32;
  Shape shape_;
};

// f32, f16 or bf16 -> f32, contiguous. n elements.
void convert_to_f32(const void* from, DType dtype, float* to, std::int64_t n);
// f32 -> f32, f16 or bf16, rounded to nearest even.
void convert_from_f32(const float* from, void* to, DType dtype, std::int64_t n);

}  // namespace foveal
