// Weights, order of the passes and windows of the resize; the loops over pixels are in the kernels.
#include "image/resize.hpp"

#include "image/geometry.hpp"
#include "image/limits.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <new>
#include <numbers>
#include <stdexcept>
#include <utility>

namespace foveal::resize {
namespace {

constexpr int kMaxBits = 22;  // 8 bits of pixel and 2 of headroom in 32

struct Filter {
  double support;
  double (*value)(double);
};

double bilinear(double x) {
  return std::max(0.0, 1.0 - std::abs(x));
}

double bicubic(double x) {
  constexpr double kA = -0.5;
  x = std::abs(x);
  if (x < 1.0) {
    return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1.0;
  }
  return x < 2.0 ? (((x - 5.0) * x + 8.0) * x - 4.0) * kA : 0.0;
}

double sinc(double x) {
  return x == 0.0 ? 1.0 : std::sin(std::numbers::pi * x) / (std::numbers::pi * x);
}

double lanczos(double x) {
  return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0;
}

Filter filter_of(ResizeFilter filter) {
  switch (filter) {
    case ResizeFilter::kBilinear:
      return {1.0, bilinear};
    case ResizeFilter::kLanczos:
      return {3.0, lanczos};
    default:
      return {2.0, bicubic};
  }
}

// Towards 0, as both backends do with a sum that already holds the 0.5.
int truncated(double value) {
  return static_cast<int>(value);
}

// The weights of one output at a time, in double and in the very order of operations of both
// backends.
class Weigher {
 public:
  Weigher(int in, int out, ResizeFilter filter)
      : in_(in),
        filter_(filter_of(filter)),
        scale_(static_cast<double>(in) / out),
        stretch_(std::max(scale_, 1.0)),  // the filter widens when shrinking
        support_(filter_.support * stretch_) {}

  // The most taps that an output has.
  int max_taps() const { return std::min(static_cast<int>(std::ceil(support_)) * 2 + 1, in_); }

  struct Taps {
    int first;
    std::span<const double> weights;  // valid until the next call
  };
  Taps taps(int output) {
    const double center = scale_ * (output + 0.5);
    const int first = std::max(truncated(center - support_ + 0.5), 0);
    const int end = std::min(truncated(center + support_ + 0.5), in_);
    weights_.clear();
    double total = 0.0;
    for (int j = first; j < end; ++j) {
      weights_.push_back(filter_.value((j - center + 0.5) * (1.0 / stretch_)));
      total += weights_.back();
    }
    if (total != 0.0) {
      for (double& weight : weights_) {
        weight /= total;
      }
    }
    return {.first = first, .weights = weights_};
  }

 private:
  int in_;
  Filter filter_;
  double scale_;
  double stretch_;
  double support_;
  std::vector<double> weights_;
};

// torchvision's precision: of the whole pass, whatever part of it is computed.
int torchvision_bits(Weigher& weigher, int out) {
  double largest = 0.0;
  for (int i = 0; i < out; ++i) {
    for (const double weight : weigher.taps(i).weights) {
      largest = std::max(largest, weight);
    }
  }
  int bits = 0;
  while (bits < kMaxBits && truncated(0.5 + largest * (1 << (bits + 1))) < (1 << 15)) {
    ++bits;
  }
  return bits;
}

std::int32_t to_fixed(double weight, int bits) {  // half away from zero
  const double scaled = weight * (1 << bits);
  return static_cast<std::int32_t>(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

}  // namespace

Axis::Axis(int in, int out, Range outputs, ResizeFilter filter, ImageBackend backend)
    : outputs_(outputs.size()) {
  Weigher weigher(in, out, filter);
  bits_ = backend == ImageBackend::kPillow ? kMaxBits : torchvision_bits(weigher, out);
  stride_ = (weigher.max_taps() + kTapGroup - 1) / kTapGroup * kTapGroup;
  const auto n = static_cast<std::size_t>(outputs_);
  const std::size_t total = n * static_cast<std::size_t>(stride_);
  first_.resize(n);
  count_.resize(n);
  weights_.resize(total);
  low_.resize(total);
  if (backend == ImageBackend::kPillow) {
    high_.resize(total);
  }
  sources_ = {.begin = in, .end = 0};
  for (std::size_t i = 0; i < n; ++i) {
    const Weigher::Taps taps = weigher.taps(outputs.begin + static_cast<int>(i));
    const int count = static_cast<int>(taps.weights.size());
    first_[i] = taps.first;
    count_[i] = count;
    sources_.begin = std::min(sources_.begin, taps.first);
    sources_.end = std::max(sources_.end, taps.first + count);
    for (std::size_t j = 0; j < taps.weights.size(); ++j) {
      const std::size_t at = i * static_cast<std::size_t>(stride_) + j;
      const std::int32_t fixed = to_fixed(taps.weights[j], bits_);
      weights_[at] = fixed;
      if (high_.empty()) {
        low_[at] = static_cast<std::int16_t>(fixed);
      } else {
        low_[at] = static_cast<std::int16_t>(fixed & 0x7FFF);
        high_[at] = static_cast<std::int16_t>(fixed >> 15);
      }
    }
  }
  for (std::int32_t& first : first_) {
    first -= sources_.begin;
  }
}

AxisView Axis::view() const {
  return {.outputs = outputs_,
          .stride = stride_,
          .bits = bits_,
          .first = first_.data(),
          .count = count_.data(),
          .weights = weights_.data(),
          .low = low_.data(),
          .high = high_.empty() ? nullptr : high_.data()};
}

namespace {

// A rectangle of (rows, columns, 3) pixels inside a larger buffer that ends at `end`.
struct Plane {
  const std::uint8_t* data;
  std::ptrdiff_t stride;  // bytes
  int rows;
  int columns;
  const std::uint8_t* end;
};

Plane plane_of(const std::vector<std::uint8_t>& pixels, int rows, int columns) {
  return {.data = pixels.data(),
          .stride = std::ptrdiff_t{columns} * 3,
          .rows = rows,
          .columns = columns,
          .end = pixels.data() + pixels.size()};
}

Plane part_of(const Plane& plane, Range rows, Range columns) {
  return {.data = plane.data + rows.begin * plane.stride + std::ptrdiff_t{columns.begin} * 3,
          .stride = plane.stride,
          .rows = rows.size(),
          .columns = columns.size(),
          .end = plane.end};
}

// (plane.rows, axis outputs, 3)
std::vector<std::uint8_t> pass_along_width(const KernelTable& kernels, const AxisView& axis,
                                           const Plane& in) {
  const std::ptrdiff_t out_row = std::ptrdiff_t{axis.outputs} * 3;
  std::vector<std::uint8_t> out(static_cast<std::size_t>(in.rows * out_row));
  // Kernels may read a little past the end of a row: near the end of the buffer they get copies.
  const std::ptrdiff_t reach = std::ptrdiff_t{in.columns} * 3 + kOverread;
  const std::ptrdiff_t room = in.end - in.data;
  const int safe =
      room < reach
          ? 0
          : static_cast<int>(std::min<std::ptrdiff_t>((room - reach) / in.stride + 1, in.rows));
  kernels.horizontal(axis, in.data, in.stride, safe, out.data());
  std::vector<std::uint8_t> copy(static_cast<std::size_t>(safe < in.rows ? reach : 0));
  for (int row = safe; row < in.rows; ++row) {
    std::memcpy(copy.data(), in.data + row * in.stride, static_cast<std::size_t>(in.columns) * 3);
    kernels.horizontal(axis, copy.data(), reach, 1, out.data() + row * out_row);
  }
  return out;
}

// (axis outputs, plane.columns, 3)
std::vector<std::uint8_t> pass_along_height(const KernelTable& kernels, const AxisView& axis,
                                            const Plane& in) {
  const std::ptrdiff_t row_bytes = std::ptrdiff_t{in.columns} * 3;
  std::vector<std::uint8_t> out(static_cast<std::size_t>(axis.outputs * row_bytes));
  kernels.vertical(axis, in.data, in.stride, row_bytes, out.data());
  return out;
}

std::vector<std::uint8_t> copy_of(const Plane& in) {
  const std::size_t row_bytes = static_cast<std::size_t>(in.columns) * 3;
  std::vector<std::uint8_t> out(static_cast<std::size_t>(in.rows) * row_bytes);
  for (int row = 0; row < in.rows; ++row) {
    std::memcpy(out.data() + static_cast<std::size_t>(row) * row_bytes, in.data + row * in.stride,
                row_bytes);
  }
  return out;
}

bool height_first(const Image& image, const ResizeOptions& options) {
  const int shrink = image.height - options.size.height;
  return options.backend == ImageBackend::kPillow && shrink > 0 &&
         shrink > std::int64_t{2} * (image.width - options.size.width);
}

// The part `inside` of the resized picture; it lies within it and is not empty.
std::vector<std::uint8_t> resize_part(const KernelTable& kernels, const Image& image,
                                      const ResizeOptions& options, const ImageWindow& inside) {
  const Range columns{.begin = inside.left, .end = inside.left + inside.width};
  const Range rows{.begin = inside.top, .end = inside.top + inside.height};
  const Plane whole = plane_of(image.rgb, image.height, image.width);
  const bool same_width = image.width == options.size.width;
  const bool same_height = image.height == options.size.height;
  if (same_width && same_height) {
    return copy_of(part_of(whole, rows, columns));
  }
  if (same_width) {
    const Axis axis(image.height, options.size.height, rows, options.filter, options.backend);
    return pass_along_height(kernels, axis.view(), part_of(whole, axis.sources(), columns));
  }
  if (same_height) {
    const Axis axis(image.width, options.size.width, columns, options.filter, options.backend);
    return pass_along_width(kernels, axis.view(), part_of(whole, rows, axis.sources()));
  }
  const Axis across(image.width, options.size.width, columns, options.filter, options.backend);
  const Axis down(image.height, options.size.height, rows, options.filter, options.backend);
  const Plane needed = part_of(whole, down.sources(), across.sources());
  if (height_first(image, options)) {
    const auto between = pass_along_height(kernels, down.view(), needed);
    return pass_along_width(kernels, across.view(), plane_of(between, rows.size(), needed.columns));
  }
  const auto between = pass_along_width(kernels, across.view(), needed);
  return pass_along_height(kernels, down.view(), plane_of(between, needed.rows, columns.size()));
}

Status check_size(int height, int width, int limit, const char* what) {
  if (height >= 1 && width >= 1 && height <= limit && width <= limit) {
    return {};
  }
  return Error(ErrorCode::kImageSizeInvalid,
               {{"what", what}, {"width", width}, {"height", height}, {"limit", limit}});
}

}  // namespace

const KernelTable& best_kernels() {
  return *runnable_kernels().back();
}

std::vector<const KernelTable*> runnable_kernels() {
  std::vector<const KernelTable*> kernels{&generic_kernels()};
#if defined(__x86_64__)
  if (const KernelTable* avx2 = avx2_kernels();
      avx2 != nullptr && __builtin_cpu_supports("avx2") != 0) {
    kernels.push_back(avx2);
  }
#endif
  return kernels;
}

Result<Image> resize_image(const KernelTable& kernels, const Image& image,
                           const ResizeOptions& options) {
  const ImageWindow window = options.window.value_or(
      ImageWindow{.top = 0, .left = 0, .height = options.size.height, .width = options.size.width});
  FOVEAL_TRY_STATUS(check_image(image));
  FOVEAL_TRY_STATUS(
      check_size(options.size.height, options.size.width, kMaxSide, "a resized picture"));
  FOVEAL_TRY_STATUS(check_size(window.height, window.width, kMaxSide, "a window"));
  const std::int64_t pixels = std::int64_t{window.height} * window.width;
  if (const std::int64_t limit = ImageLimits{}.max_pixels; pixels > limit) {
    return Error(ErrorCode::kImageTooManyPixels, {{"file", "the resized picture"},
                                                  {"width", window.width},
                                                  {"height", window.height},
                                                  {"limit", limit}});
  }
  try {
    const ImageWindow inside = intersection(window, options.size);
    Image part;
    part.width = inside.width;
    part.height = inside.height;
    if (inside.width > 0 && inside.height > 0) {
      part.rgb = resize_part(kernels, image, options, inside);
    }
    if (inside == window) {
      return part;
    }
    return crop_image(part, {.top = window.top - inside.top,
                             .left = window.left - inside.left,
                             .height = window.height,
                             .width = window.width});
  } catch (const std::bad_alloc&) {
    return out_of_memory(pixels * 3, "a resized picture");
  } catch (const std::length_error&) {
    return out_of_memory(pixels * 3, "a resized picture");
  }
}

}  // namespace foveal::resize

namespace foveal {

Result<Image> resize_image(const Image& image, const ResizeOptions& options) {
  return resize::resize_image(resize::best_kernels(), image, options);
}

}  // namespace foveal
