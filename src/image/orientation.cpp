// EXIF orientation: a bounds-checked look into IFD 0, and the eight ways to turn a picture.
#include "image/orientation.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

namespace foveal {
namespace {

constexpr std::uint32_t kOrientationTag = 0x0112;
constexpr std::uint32_t kTypeShort = 3;
constexpr std::uint32_t kTypeLong = 4;

// A TIFF block: numbers in the byte order that its first two bytes name.
class TiffBlock {
 public:
  TiffBlock(std::span<const std::uint8_t> bytes, bool big_endian)
      : bytes_(bytes), big_endian_(big_endian) {}

  std::optional<std::uint32_t> u16(std::size_t at) const { return number(at, 2); }
  std::optional<std::uint32_t> u32(std::size_t at) const { return number(at, 4); }

 private:
  std::optional<std::uint32_t> number(std::size_t at, std::size_t size) const {
    if (at > bytes_.size() || bytes_.size() - at < size) {
      return std::nullopt;
    }
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < size; ++i) {
      value = value << 8 | bytes_[at + (big_endian_ ? i : size - 1 - i)];
    }
    return value;
  }
  std::span<const std::uint8_t> bytes_;
  bool big_endian_;
};

int valid_or_upright(std::uint32_t value) {
  return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
}

std::string_view text_of(std::span<const std::uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

std::optional<int> exif_orientation(std::span<const std::uint8_t> exif) {
  constexpr std::string_view kPrefix("Exif\0\0", 6);
  while (text_of(exif).starts_with(kPrefix)) {
    exif = exif.subspan(kPrefix.size());
  }
  const bool little = text_of(exif).starts_with("II");
  if (!little && !text_of(exif).starts_with("MM")) {
    return std::nullopt;
  }
  const TiffBlock block(exif, !little);
  const auto magic = block.u16(2);
  const auto ifd = block.u32(4);
  const auto count = ifd ? block.u16(*ifd) : std::nullopt;
  if (magic != 42U || !count) {
    return std::nullopt;
  }
  for (std::size_t i = 0; i < *count; ++i) {
    const std::size_t entry = *ifd + 2 + 12 * i;  // tag, type, number of values, value
    const auto tag = block.u16(entry);
    if (!tag) {
      return std::nullopt;
    }
    if (*tag != kOrientationTag) {
      continue;
    }
    const auto type = block.u16(entry + 2);
    const auto value = type == kTypeShort  ? block.u16(entry + 8)
                       : type == kTypeLong ? block.u32(entry + 8)
                                           : std::nullopt;
    return value ? std::optional(valid_or_upright(*value)) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<int> xmp_orientation(std::span<const std::uint8_t> xmp) {
  constexpr std::string_view kKey = "tiff:Orientation";
  std::string_view text = text_of(xmp);
  for (std::size_t at = text.find(kKey); at != text.npos; at = text.find(kKey, at + 1)) {
    std::string_view rest = text.substr(at + kKey.size());
    const std::size_t skip = rest.starts_with("=\"") ? 2 : rest.starts_with(">") ? 1 : 0;
    if (skip != 0 && rest.size() > skip && rest[skip] >= '0' && rest[skip] <= '9') {
      return valid_or_upright(static_cast<std::uint32_t>(rest[skip] - '0'));
    }
  }
  return std::nullopt;
}

int find_orientation(std::span<const std::uint8_t> exif, std::span<const std::uint8_t> xmp) {
  if (const auto found = exif_orientation(exif)) {
    return *found;
  }
  return xmp_orientation(xmp).value_or(1);
}

Image apply_orientation(Image image, int orientation) {
  if (orientation <= 1 || orientation > 8) {
    return image;
  }
  const auto stored_w = static_cast<std::size_t>(image.width);
  const auto stored_h = static_cast<std::size_t>(image.height);
  const bool swap = orientation >= 5;
  // Stored pixel of upright (0, 0), and where the next pixel and the next row of the upright
  // picture lie.
  const bool from_right =
      orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const auto row_step = static_cast<std::ptrdiff_t>(stored_w * 3);
  const std::ptrdiff_t step_x = from_right ? -3 : 3;
  const std::ptrdiff_t step_y = from_bottom ? -row_step : row_step;
  const std::uint8_t* origin = image.rgb.data() + (from_right ? (stored_w - 1) * 3 : 0) +
                               (from_bottom ? (stored_h - 1) * stored_w * 3 : 0);

  Image upright;
  upright.width = swap ? image.height : image.width;
  upright.height = swap ? image.width : image.height;
  upright.rgb.resize(image.rgb.size());
  const std::ptrdiff_t next_pixel = swap ? step_y : step_x;
  const std::ptrdiff_t next_row = swap ? step_x : step_y;
  // Tiles, so that a turned 12-megapixel photo does not fetch a cache line for every pixel: 32 rows
  // of 64 bytes stay in the first-level cache.
  constexpr int kTile = 32;
  const int width = upright.width;
  const int height = upright.height;
  for (int y0 = 0; y0 < height; y0 += kTile) {
    for (int x0 = 0; x0 < width; x0 += kTile) {
      const int x_end = std::min(x0 + kTile, width);
      for (int y = y0; y < std::min(y0 + kTile, height); ++y) {
        const std::uint8_t* in = origin + y * next_row + x0 * next_pixel;
        std::uint8_t* out =
            upright.rgb.data() + (static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
                                  static_cast<std::size_t>(x0)) *
                                     3;
        for (int x = x0; x < x_end; ++x, in += next_pixel, out += 3) {
          std::memcpy(out, in, 3);
        }
      }
    }
  }
  return upright;
}

}  // namespace foveal
