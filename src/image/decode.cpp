// The facade of the decoders: the one table of formats, the limits, blending and orientation.
#include "image/codecs/jpeg.hpp"
#include "image/codecs/png.hpp"
#include "image/codecs/webp.hpp"
#include "image/limits.hpp"
#include "image/orientation.hpp"

#include <foveal/image.hpp>

#include <algorithm>
#include <array>
#include <new>
#include <string>
#include <utility>

namespace foveal {
namespace {

using codecs::Codec;
using codecs::Input;
using codecs::Raster;
using codecs::starts_with;
using FileBytes = std::span<const std::uint8_t>;

bool is_gif(FileBytes b) {
  return starts_with(b, "GIF8");
}
bool is_bmp(FileBytes b) {
  return starts_with(b, "BM");
}
bool is_tiff(FileBytes b) {
  return starts_with(b, std::string_view("II*\0", 4)) ||
         starts_with(b, std::string_view("MM\0*", 4)) ||
         starts_with(b, std::string_view("II+\0", 4)) ||
         starts_with(b, std::string_view("MM\0+", 4));
}
bool is_ppm(FileBytes b) {
  return b.size() >= 3 && b[0] == 'P' && b[1] >= '1' && b[1] <= '7' &&
         (b[2] == ' ' || (b[2] >= '\t' && b[2] <= '\r'));
}
bool is_jxl(FileBytes b) {
  return starts_with(b, "\xFF\x0A") ||
         starts_with(b, std::string_view("\0\0\0\x0CJXL \r\n\x87\n", 12));
}
// ISO base media: a box `ftyp`, its brand 8 bytes into the file.
bool has_brand(FileBytes b, std::initializer_list<std::string_view> brands) {
  return b.size() >= 12 && starts_with(b.subspan(4), "ftyp") &&
         std::any_of(brands.begin(), brands.end(),
                     [&](std::string_view brand) { return starts_with(b.subspan(8), brand); });
}
bool is_avif(FileBytes b) {
  return has_brand(b, {"avif", "avis"});
}
bool is_heic(FileBytes b) {
  return has_brand(b, {"heic", "heix", "heim", "heis", "hevc", "hevx", "mif1", "msf1"});
}

// One row a format. Short magics stand last: "BM" and "P6" begin other files too.
constexpr std::array kCodecs{
    codecs::jpeg::kCodec,
    codecs::png::kCodec,
    codecs::webp::kCodec,
    Codec{"GIF", is_gif, nullptr, nullptr},
    Codec{"AVIF", is_avif, nullptr, nullptr},
    Codec{"HEIC", is_heic, nullptr, nullptr},
    Codec{"JPEG XL", is_jxl, nullptr, nullptr},
    Codec{"TIFF", is_tiff, nullptr, nullptr},
    Codec{"PPM", is_ppm, nullptr, nullptr},
    Codec{"BMP", is_bmp, nullptr, nullptr},
};

// "JPEG, PNG or WebP"
std::string readable_formats() {
  std::vector<std::string_view> names;
  for (const Codec& codec : kCodecs) {
    if (codec.decode != nullptr) {
      names.push_back(codec.format);
    }
  }
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += i == 0 ? "" : i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

std::string first_bytes(FileBytes bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes.first(std::min<std::size_t>(bytes.size(), 8))) {
    text += text.empty() ? "" : " ";
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Result<const Codec*> find_codec(const Input& input) {
  if (input.bytes.empty()) {
    return Error(ErrorCode::kImageEmpty, {{"file", input.name}});
  }
  for (const Codec& codec : kCodecs) {
    if (!codec.recognises(input.bytes)) {
      continue;
    }
    if (codec.decode == nullptr) {
      return input.not_built(codec.format, "convert it to " + readable_formats());
    }
    return &codec;
  }
  return Error(
      ErrorCode::kImageFormatUnknown,
      {{"file", input.name}, {"bytes", first_bytes(input.bytes)}, {"known", readable_formats()}});
}

Status check_pixels(const ImageInfo& info, std::string_view name, const ImageLimits& limits) {
  const std::int64_t pixels = std::int64_t{info.width} * info.height;  // below 2^62
  std::int64_t exceeded = 0;
  if (pixels > limits.max_pixels) {
    exceeded = limits.max_pixels;
  } else if (std::max(info.width, info.height) > limits.max_side) {
    exceeded = limits.max_side;
  } else {
    return {};
  }
  return Error(
      ErrorCode::kImageTooManyPixels,
      {{"file", name}, {"width", info.width}, {"height", info.height}, {"limit", exceeded}});
}

struct Opened {
  const Codec* codec;
  ImageInfo info;
};

Result<Opened> open_within_limits(const Input& input, const ImageLimits& limits) {
  FOVEAL_TRY_STATUS(
      check_file_size(static_cast<std::int64_t>(input.bytes.size()), input.name, limits));
  FOVEAL_TRY(const Codec* codec, find_codec(input));
  FOVEAL_TRY(ImageInfo info, codec->probe(input));
  FOVEAL_TRY_STATUS(check_pixels(info, input.name, limits));
  return Opened{.codec = codec, .info = info};
}

// colour * alpha + background * (1 - alpha) with Pillow's alpha_composite arithmetic for an opaque
// background: 7 extra bits, division by 255 by two shifts.
std::uint8_t blend(std::uint32_t colour, std::uint32_t background, std::uint32_t alpha) {
  constexpr unsigned kBits = 7;
  const std::uint32_t sum =
      ((colour * alpha + background * (255 - alpha)) << kBits) + (0x80U << kBits);
  return static_cast<std::uint8_t>((((sum >> 8) + sum) >> 8) >> kBits);
}

Image flatten(Raster raster, const std::optional<std::array<std::uint8_t, 3>>& background) {
  Image image;
  image.width = raster.width;
  image.height = raster.height;
  if (raster.channels == 3 || !background) {
    image.rgb = std::move(raster.pixels);
    return image;
  }
  const std::size_t pixels = raster.pixels.size() / 4;
  image.rgb.resize(pixels * 3);
  for (std::size_t i = 0; i < pixels; ++i) {
    const std::uint8_t* in = &raster.pixels[i * 4];
    for (std::size_t c = 0; c < 3; ++c) {
      image.rgb[i * 3 + c] = blend(in[c], (*background)[c], in[3]);
    }
  }
  return image;
}

}  // namespace

Result<ImageInfo> probe_image(std::span<const std::uint8_t> bytes, std::string_view name,
                              const ImageLimits& limits) {
  FOVEAL_TRY(const Opened opened, open_within_limits(Input{.bytes = bytes, .name = name}, limits));
  return opened.info;
}

Result<Image> decode_image(std::span<const std::uint8_t> bytes, std::string_view name,
                           const DecodeOptions& options) {
  const Input input{.bytes = bytes, .name = name};
  FOVEAL_TRY(const Opened opened, open_within_limits(input, options.limits));
  try {
    FOVEAL_TRY(Raster raster, opened.codec->decode(input, opened.info, options));
    return apply_orientation(flatten(std::move(raster), options.background),
                             opened.info.orientation);
  } catch (const std::bad_alloc&) {
    return out_of_memory(std::int64_t{opened.info.width} * opened.info.height * 3, name);
  }
}

}  // namespace foveal
