// The plain kernels: every platform has them, and they judge the others.
#include "image/resize_kernels.hpp"

namespace foveal::resize {
namespace {

std::uint8_t clamp_to_byte(std::int32_t value) {
  return static_cast<std::uint8_t>(value < 0 ? 0 : value > 255 ? 255 : value);
}

void horizontal(const AxisView& axis, const std::uint8_t* in, std::ptrdiff_t in_stride, int rows,
                std::uint8_t* out) {
  for (int row = 0; row < rows; ++row, in += in_stride) {
    for (int x = 0; x < axis.outputs; ++x, out += 3) {
      const std::int32_t* weight = axis.weights + std::ptrdiff_t{x} * axis.stride;
      const std::uint8_t* pixel = in + std::ptrdiff_t{axis.first[x]} * 3;
      std::int32_t r = 1 << (axis.bits - 1);
      std::int32_t g = r;
      std::int32_t b = r;
      for (int j = 0; j < axis.count[x]; ++j, pixel += 3) {
        r += weight[j] * pixel[0];
        g += weight[j] * pixel[1];
        b += weight[j] * pixel[2];
      }
      out[0] = clamp_to_byte(r >> axis.bits);
      out[1] = clamp_to_byte(g >> axis.bits);
      out[2] = clamp_to_byte(b >> axis.bits);
    }
  }
}

void vertical(const AxisView& axis, const std::uint8_t* in, std::ptrdiff_t in_stride,
              std::ptrdiff_t row_bytes, std::uint8_t* out) {
  constexpr std::ptrdiff_t kBlock = 64;  // columns whose sums stay in registers
  for (int y = 0; y < axis.outputs; ++y, out += row_bytes) {
    const std::int32_t* weight = axis.weights + std::ptrdiff_t{y} * axis.stride;
    const std::uint8_t* top = in + axis.first[y] * in_stride;
    for (std::ptrdiff_t begin = 0; begin < row_bytes; begin += kBlock) {
      const std::ptrdiff_t size = row_bytes - begin < kBlock ? row_bytes - begin : kBlock;
      std::int32_t sum[kBlock];
      for (std::ptrdiff_t i = 0; i < size; ++i) {
        sum[i] = 1 << (axis.bits - 1);
      }
      const std::uint8_t* row = top + begin;
      for (int j = 0; j < axis.count[y]; ++j, row += in_stride) {
        for (std::ptrdiff_t i = 0; i < size; ++i) {
          sum[i] += weight[j] * row[i];
        }
      }
      for (std::ptrdiff_t i = 0; i < size; ++i) {
        out[begin + i] = clamp_to_byte(sum[i] >> axis.bits);
      }
    }
  }
}

constexpr KernelTable kGeneric{"generic", horizontal, vertical};

}  // namespace

const KernelTable& generic_kernels() {
  return kGeneric;
}

}  // namespace foveal::resize
