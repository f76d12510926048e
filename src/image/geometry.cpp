// Sizes and rectangles, see geometry.hpp.
#include "image/geometry.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace foveal {
namespace {

// a * b / c, truncated, all positive: equals Python's int(a * b / c), whose rounded quotient cannot
// reach the next integer for extents of pictures.
int scaled(int a, int b, int c) {
  const std::int64_t value = std::int64_t{a} * b / c;
  return static_cast<int>(std::min<std::int64_t>(value, std::numeric_limits<int>::max()));
}

ImageSize with_sides(ImageSize like, int short_side, int long_side) {
  return like.width <= like.height ? ImageSize{.height = long_side, .width = short_side}
                                   : ImageSize{.height = short_side, .width = long_side};
}

int center_offset(int size, int crop, ImageBackend backend) {
  const int difference = size - crop;
  const bool round_down = difference < 0 && backend == ImageBackend::kPillow;
  return round_down ? (difference - 1) / 2 : difference / 2;
}

}  // namespace

ImageSize shortest_edge_size(ImageSize size, int edge) {
  const auto [shorter, longer] = std::minmax(size.width, size.height);
  return with_sides(size, edge, scaled(edge, longer, shorter));
}

ImageSize shortest_edge_size(ImageSize size, int edge, int longest) {
  const auto [shorter, longer] = std::minmax(size.width, size.height);
  const int long_side = scaled(edge, longer, shorter);
  if (long_side <= longest) {
    return with_sides(size, edge, long_side);
  }
  return with_sides(size, scaled(longest, edge, long_side), longest);
}

ImageWindow center_window(ImageSize size, ImageSize crop, ImageBackend backend) {
  return {.top = center_offset(size.height, crop.height, backend),
          .left = center_offset(size.width, crop.width, backend),
          .height = crop.height,
          .width = crop.width};
}

ImageWindow intersection(const ImageWindow& window, ImageSize size) {
  // 64 bits: a window may begin near either end of int.
  const auto clip = [](std::int64_t at, int limit) {
    return static_cast<int>(std::clamp<std::int64_t>(at, 0, limit));
  };
  const int top = clip(window.top, size.height);
  const int left = clip(window.left, size.width);
  const int bottom = clip(std::int64_t{window.top} + window.height, size.height);
  const int right = clip(std::int64_t{window.left} + window.width, size.width);
  return {.top = top, .left = left, .height = bottom - top, .width = right - left};
}

Image crop_image(const Image& image, const ImageWindow& window) {
  Image out;
  out.width = window.width;
  out.height = window.height;
  const auto width = static_cast<std::size_t>(window.width);
  out.rgb.resize(static_cast<std::size_t>(window.height) * width * 3);
  const ImageWindow inside = intersection(window, image.size());
  for (int y = inside.top; y < inside.top + inside.height && inside.width > 0; ++y) {
    const std::size_t from = static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) +
                             static_cast<std::size_t>(inside.left);
    const std::size_t to = static_cast<std::size_t>(y - window.top) * width +
                           static_cast<std::size_t>(inside.left - window.left);
    std::memcpy(&out.rgb[to * 3], &image.rgb[from * 3], static_cast<std::size_t>(inside.width) * 3);
  }
  return out;
}

}  // namespace foveal
