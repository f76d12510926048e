// Views of strided arrays: pointer, dtype, extents and strides in elements, device. Views never
// own.
#pragma once

#include <foveal/units.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace foveal {

enum class DType : std::uint8_t {
  kF64,
  kF32,
  kF16,
  kBF16,
  kI64,
  kI32,
  kI16,
  kI8,
  kU8,
  kBool,
  kU16,
  kU32,
  kU64,
  kF8
};

std::string_view dtype_name(DType dtype);  // "f32", "bf16", "i64" ...
Bytes dtype_size(DType dtype);

enum class DeviceKind : std::uint8_t { kCpu, kCuda };
struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;
  friend bool operator==(const Device&, const Device&) = default;
};

// Extents of an array of up to kMaxRank dimensions.
class Shape {
 public:
  static constexpr int kMaxRank = 6;  // (images, frames, channels, height, width) and one to spare

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents) {
    for (const std::int64_t e : extents) {
      if (rank_ < kMaxRank) {
        extents_[static_cast<std::size_t>(rank_++)] = e;
      }
    }
  }

  int rank() const { return rank_; }
  std::int64_t operator[](int i) const { return extents_[static_cast<std::size_t>(i)]; }
  std::int64_t& operator[](int i) { return extents_[static_cast<std::size_t>(i)]; }
  // Beyond kMaxRank: refused, the caller has checked the rank of outside data.
  bool push_back(std::int64_t extent) {
    if (rank_ == kMaxRank) {
      return false;
    }
    extents_[static_cast<std::size_t>(rank_++)] = extent;
    return true;
  }
  // Product of the extents; 1 for rank 0. Extents of outside data are checked where they are read.
  std::int64_t numel() const {
    std::int64_t n = 1;
    for (int i = 0; i < rank_; ++i) {
      n *= (*this)[i];
    }
    return n;
  }
  std::string text() const;  // "(3, 224, 224)"
  std::span<const std::int64_t> extents() const {
    return {extents_.data(), static_cast<std::size_t>(rank_)};
  }
  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

using Strides = std::array<Elements, Shape::kMaxRank>;  // entries past the rank are 0
Strides contiguous_strides(const Shape& shape);

// Pointer is `void*` for outputs (TensorView) and `const void*` for inputs (ConstTensorView).
template <class Void>
struct BasicTensorView {
  Void* data = nullptr;  // may be null where numel() is 0
  DType dtype = DType::kF32;
  Shape shape;
  Strides strides{};  // in elements
  Device device;

  BasicTensorView() = default;
  // Contiguous, row-major.
  BasicTensorView(Void* p, DType d, const Shape& s, Device dev = {})
      : data(p), dtype(d), shape(s), strides(contiguous_strides(s)), device(dev) {}
  BasicTensorView(Void* p, DType d, const Shape& s, const Strides& st, Device dev = {})
      : data(p), dtype(d), shape(s), strides(st), device(dev) {}
  // TensorView converts to ConstTensorView, never back.
  template <class Other>
  requires(std::is_const_v<Void> && !std::is_const_v<Other>)
      // NOLINTNEXTLINE(google-explicit-constructor): reading is a subset of writing
      BasicTensorView(const BasicTensorView<Other>& o)
      : data(o.data), dtype(o.dtype), shape(o.shape), strides(o.strides), device(o.device) {}

  std::int64_t numel() const { return shape.numel(); }
  bool contiguous() const {
    std::int64_t expected = 1;
    for (int i = shape.rank() - 1; i >= 0; --i) {
      if (shape[i] != 1 && strides[static_cast<std::size_t>(i)].v != expected) {
        return false;
      }
      expected *= shape[i];
    }
    return true;
  }
  template <class T>
  auto as() const {
    using Ptr = std::conditional_t<std::is_const_v<Void>, const T*, T*>;
    return static_cast<Ptr>(data);
  }
};

using TensorView = BasicTensorView<void>;
using ConstTensorView = BasicTensorView<const void>;

}  // namespace foveal
