// Walks the markers of a JPEG up to its first scan: extents, components, EXIF and XMP, without
// libjpeg.
#include "image/codecs/jpeg.hpp"
#include "image/orientation.hpp"

#include <string>

namespace foveal::codecs::jpeg {
namespace {

using Bytes8 = std::span<const std::uint8_t>;

constexpr std::string_view kExifPrefix("Exif\0\0", 6);
constexpr std::string_view kXmpPrefix("http://ns.adobe.com/xap/1.0/\0", 29);
constexpr std::string_view kConvert = "save it again as a usual 8-bit JPEG, or as PNG";

enum class Coding { kHuffman, kArithmetic };

bool is_frame_header(std::uint8_t marker) {  // SOF0..15; C4, C8 and CC in between are other things
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

bool has_no_length(std::uint8_t marker) {  // TEM and RST0..7
  return marker == 0x01 || (marker >= 0xD0 && marker <= 0xD7);
}

Status read_frame_header(const Input& input, std::uint8_t marker, Bytes8 segment, ImageInfo& info) {
  if (segment.size() < 6) {
    return input.corrupt("its frame header is too short");
  }
  if (marker == 0xC3 || (marker >= 0xC5 && marker <= 0xC7) || marker == 0xCB || marker >= 0xCD) {
    return input.not_built("a lossless or hierarchical JPEG", kConvert);
  }
  info.bits = segment[0];
  info.height = static_cast<int>(be16(&segment[1]));
  info.width = static_cast<int>(be16(&segment[3]));
  const int components = segment[5];
  if (info.width == 0 || info.height == 0) {
    return input.corrupt("its header gives " + std::to_string(info.width) + " x " +
                         std::to_string(info.height) + " pixels");
  }
  if (info.bits != 8) {
    return input.not_built("a JPEG of " + std::to_string(info.bits) + " bits", kConvert);
  }
  switch (components) {
    case 1:
      info.mode = "L";
      break;
    case 3:
      info.mode = "RGB";
      break;
    case 4:
      info.mode = "CMYK";
      break;
    default:
      return input.not_built("a JPEG of " + std::to_string(components) + " components", kConvert);
  }
  return {};
}

}  // namespace

bool recognises(std::span<const std::uint8_t> bytes) {
  return starts_with(bytes, "\xFF\xD8\xFF");
}

Result<ImageInfo> probe(const Input& input) {
  const Bytes8 bytes = input.bytes;
  ImageInfo info;
  info.format = kCodec.format;
  Coding coding = Coding::kHuffman;
  Bytes8 exif;
  Bytes8 xmp;
  std::size_t at = 2;
  while (true) {
    // Anything may stand between segments, and any number of FF before a marker.
    while (at < bytes.size() && bytes[at] != 0xFF) {
      ++at;
    }
    while (at < bytes.size() && bytes[at] == 0xFF) {
      ++at;
    }
    if (at >= bytes.size()) {
      return input.truncated("it ends within its header");
    }
    const std::uint8_t marker = bytes[at++];
    if (marker == 0x00 || has_no_length(marker)) {
      continue;
    }
    if (marker == 0xD9 || marker == 0xDA) {  // end of image, start of scan
      break;
    }
    if (bytes.size() - at < 2) {
      return input.truncated("it ends within its header");
    }
    const std::size_t length = be16(&bytes[at]);  // counts itself
    if (length < 2) {
      return input.corrupt("a segment of its header has no length");
    }
    if (bytes.size() - at < length) {
      return input.truncated("it ends within its header");
    }
    const Bytes8 segment = bytes.subspan(at + 2, length - 2);
    at += length;
    if (is_frame_header(marker) && info.width == 0) {
      FOVEAL_TRY_STATUS(read_frame_header(input, marker, segment, info));
      coding = marker >= 0xC9 ? Coding::kArithmetic : Coding::kHuffman;
    } else if (marker == 0xE1 && exif.empty() && starts_with(segment, kExifPrefix)) {
      exif = segment;
    } else if (marker == 0xE1 && starts_with(segment, kXmpPrefix)) {
      xmp = segment.subspan(kXmpPrefix.size());
    }
  }
  if (info.width == 0) {
    return input.corrupt("it has no frame header");
  }
  // A Huffman code has at least one bit, and every 8 x 8 pixels have at least one: fewer bits
  // cannot hold the picture, and 1 KB of file must not make us allocate for millions of pixels.
  const std::uint64_t blocks = static_cast<std::uint64_t>((info.width + 7) / 8) *
                               static_cast<std::uint64_t>((info.height + 7) / 8);
  if (coding == Coding::kHuffman && (bytes.size() - at) * 8 < blocks) {
    return input.truncated(std::to_string(bytes.size()) + " bytes cannot hold " +
                           std::to_string(info.width) + " x " + std::to_string(info.height) +
                           " pixels");
  }
  info.orientation = find_orientation(exif, xmp);
  return info;
}

}  // namespace foveal::codecs::jpeg
