// PNG: a walk over the chunks for everything but pixels (extents, transparency, EXIF, frames),
// libpng for the pixels. libpng skips all ancillary chunks but tRNS: no inflating of profiles and
// texts. Its errors jump back into one small function without destructors.
#include "image/codecs/png.hpp"
#include "image/orientation.hpp"

#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include <png.h>

namespace foveal::codecs::png {
namespace {

using Bytes8 = std::span<const std::uint8_t>;

constexpr std::string_view kSignature("\x89PNG\r\n\x1a\n", 8);
constexpr std::string_view kXmpKeyword("XML:com.adobe.xmp\0\0\0", 20);  // uncompressed
constexpr std::size_t kChunkFrame = 12;                                 // length, type, CRC

// Deflate cannot expand by more than this: fewer bytes than that cannot hold the picture.
constexpr std::uint64_t kMaxExpansion = 1032;

enum ColorType : std::uint8_t { kGray = 0, kRgb = 2, kPalette = 3, kGrayAlpha = 4, kRgba = 6 };

struct Chunks {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint8_t bits = 0;
  std::uint8_t color_type = 0;
  bool has_palette = false;
  bool has_trns = false;
  std::uint32_t frames = 1;
  std::uint64_t data_bytes = 0;  // of all IDAT
  Bytes8 exif;
  Bytes8 xmp;
};

bool depth_fits(std::uint8_t color_type, std::uint8_t bits) {
  switch (color_type) {
    case kGray:
      return bits == 1 || bits == 2 || bits == 4 || bits == 8 || bits == 16;
    case kPalette:
      return bits == 1 || bits == 2 || bits == 4 || bits == 8;
    case kRgb:
    case kGrayAlpha:
    case kRgba:
      return bits == 8 || bits == 16;
    default:
      return false;
  }
}

std::uint64_t channels_of(std::uint8_t color_type) {
  switch (color_type) {
    case kRgb:
      return 3;
    case kGrayAlpha:
      return 2;
    case kRgba:
      return 4;
    default:
      return 1;
  }
}

Status read_header_chunk(const Input& input, Bytes8 data, Chunks& out) {
  if (data.size() != 13) {
    return input.corrupt("its header chunk has the wrong length");
  }
  out.width = be32(data.data());
  out.height = be32(&data[4]);
  out.bits = data[8];
  out.color_type = data[9];
  if (out.width == 0 || out.height == 0 || out.width > 0x7FFFFFFFU || out.height > 0x7FFFFFFFU) {
    return input.corrupt("its header gives " + std::to_string(out.width) + " x " +
                         std::to_string(out.height) + " pixels");
  }
  if (!depth_fits(out.color_type, out.bits)) {
    return input.corrupt("its header gives colour type " + std::to_string(out.color_type) +
                         " with " + std::to_string(out.bits) + " bits");
  }
  return {};
}

Status read_chunk(const Input& input, std::string_view type, Bytes8 data, Chunks& out) {
  const bool before_data = out.data_bytes == 0;
  if (type == "PLTE") {
    out.has_palette = out.has_palette || before_data;
  } else if (type == "tRNS") {
    out.has_trns = out.has_trns || before_data;
  } else if (type == "IDAT") {
    out.data_bytes += data.size();
  } else if (type == "eXIf" && out.exif.empty()) {
    out.exif = data;
  } else if (type == "iTXt" && starts_with(data, kXmpKeyword)) {
    out.xmp = data.subspan(kXmpKeyword.size());
  } else if (type == "acTL" && data.size() == 8) {
    const std::uint32_t frames = be32(data.data());
    out.frames = frames == 0 || frames > 0x7FFFFFFFU ? 1 : frames;
  } else if (type == "IHDR") {
    return input.corrupt("it has two header chunks");
  }
  return {};
}

// All chunks up to IEND, which libpng need not look for then; checksums are left to libpng.
Result<Chunks> read_chunks(const Input& input) {
  const Bytes8 bytes = input.bytes;
  if (bytes.size() < kSignature.size()) {
    return input.truncated("it ends within its signature");
  }
  if (!starts_with(bytes, kSignature)) {
    return input.corrupt("its signature is damaged, as by a transfer in text mode");
  }
  Chunks chunks;
  std::size_t at = kSignature.size();
  for (bool first = true;; first = false) {
    if (bytes.size() - at < kChunkFrame) {
      return input.truncated("it ends before its end chunk");
    }
    const std::uint32_t length = be32(&bytes[at]);
    const std::string_view type(reinterpret_cast<const char*>(&bytes[at + 4]), 4);
    if (first && type != "IHDR") {
      return input.corrupt("it does not begin with a header chunk");
    }
    if (length > 0x7FFFFFFFU) {
      return input.corrupt("a chunk has no valid length");
    }
    if (length > bytes.size() - at - kChunkFrame) {
      return input.truncated("it ends within a chunk");
    }
    const Bytes8 data = bytes.subspan(at + 8, length);
    at += kChunkFrame + length;
    if (first) {
      FOVEAL_TRY_STATUS(read_header_chunk(input, data, chunks));
    } else if (type == "IEND") {
      break;
    } else {
      FOVEAL_TRY_STATUS(read_chunk(input, type, data, chunks));
    }
  }
  if (chunks.color_type == kPalette && !chunks.has_palette) {
    return input.corrupt("it has no palette");
  }
  return chunks;
}

std::string_view mode_of(const Chunks& c) {
  const bool deep = c.bits == 16;
  switch (c.color_type) {
    case kGray:
      return deep ? "I;16" : c.bits == 1 ? "1" : "L";
    case kRgb:
      return deep ? "RGB;16" : "RGB";
    case kPalette:
      return "P";
    case kGrayAlpha:
      return deep ? "LA;16" : "LA";
    default:
      return deep ? "RGBA;16" : "RGBA";
  }
}

bool has_alpha(const Chunks& c) {
  return c.color_type == kGrayAlpha || c.color_type == kRgba || c.has_trns;
}

enum class AlphaUse { kDrop, kKeep };

struct Job {
  png_structp png = nullptr;
  png_infop header = nullptr;
  Bytes8 rest;  // not yet read
  std::jmp_buf escape{};
  bool ran_out = false;
  char reason[128] = {};

  Job() = default;
  ~Job() { png_destroy_read_struct(&png, &header, nullptr); }
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto& job = *static_cast<Job*>(png_get_error_ptr(png));
  std::snprintf(job.reason, sizeof(job.reason), "%s", message);
  std::longjmp(job.escape, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep out, size_t count) {
  auto& job = *static_cast<Job*>(png_get_io_ptr(png));
  if (count > job.rest.size()) {
    job.ran_out = true;
    png_error(png, "it ends early");
  }
  std::memcpy(out, job.rest.data(), count);
  job.rest = job.rest.subspan(count);
}

// pixels: (height, width, channels), which the caller has sized. false: job says why.
bool read_pixels(Job& job, const Chunks& chunks, AlphaUse alpha, std::uint8_t* pixels,
                 std::size_t row_bytes) {
  if (setjmp(job.escape) != 0) {
    return false;
  }
  job.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning);
  job.header = job.png == nullptr ? nullptr : png_create_info_struct(job.png);
  if (job.header == nullptr) {
    std::snprintf(job.reason, sizeof(job.reason), "libpng cannot start");
    return false;
  }
  png_set_read_fn(job.png, &job, on_read);
  png_set_user_limits(job.png, 0x7FFFFFFF, 0x7FFFFFFF);  // the facade has checked its own
  png_set_keep_unknown_chunks(job.png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(job.png, job.header);
  if (chunks.bits == 16) {
    png_set_strip_16(job.png);  // the high byte, as Pillow; not scaled and rounded
  }
  if (chunks.color_type == kPalette) {
    png_set_palette_to_rgb(job.png);
  } else if (chunks.color_type == kGray && chunks.bits < 8) {
    png_set_expand_gray_1_2_4_to_8(job.png);
  }
  if (alpha == AlphaUse::kDrop) {
    png_set_strip_alpha(job.png);  // a palette's too; a colour key is not looked at
  } else if (chunks.has_trns) {
    png_set_tRNS_to_alpha(job.png);
  }
  if (chunks.color_type == kGray || chunks.color_type == kGrayAlpha) {
    png_set_gray_to_rgb(job.png);
  }
  const int passes = png_set_interlace_handling(job.png);
  png_read_update_info(job.png, job.header);
  if (png_get_rowbytes(job.png, job.header) != row_bytes) {
    png_error(job.png, "its transparency does not belong to its colours");
  }
  for (int pass = 0; pass < passes; ++pass) {
    for (std::uint32_t y = 0; y < chunks.height; ++y) {
      png_read_row(job.png, pixels + y * row_bytes, nullptr);
    }
  }
  return true;
}

}  // namespace

// Four bytes: a signature that a text-mode transfer has damaged is still a PNG's.
bool recognises(std::span<const std::uint8_t> bytes) {
  return starts_with(bytes, "\x89PNG");
}

Result<ImageInfo> probe(const Input& input) {
  FOVEAL_TRY(const Chunks chunks, read_chunks(input));
  ImageInfo info;
  info.format = kCodec.format;
  info.width = static_cast<int>(chunks.width);
  info.height = static_cast<int>(chunks.height);
  info.mode = mode_of(chunks);
  info.bits = chunks.bits;
  info.orientation = find_orientation(chunks.exif, chunks.xmp);
  info.has_alpha = has_alpha(chunks);
  info.frames = static_cast<int>(chunks.frames);
  return info;
}

Result<Raster> decode(const Input& input, const ImageInfo& info, const DecodeOptions& options) {
  FOVEAL_TRY(const Chunks chunks, read_chunks(input));
  const std::uint64_t stored_row =
      (chunks.width * channels_of(chunks.color_type) * chunks.bits + 7) / 8 + 1;
  if (stored_row * chunks.height / kMaxExpansion > chunks.data_bytes) {
    return input.corrupt(std::to_string(chunks.data_bytes) + " bytes cannot hold " +
                         std::to_string(info.width) + " x " + std::to_string(info.height) +
                         " pixels");
  }
  const AlphaUse alpha = options.background && info.has_alpha ? AlphaUse::kKeep : AlphaUse::kDrop;
  Raster raster;
  raster.width = info.width;
  raster.height = info.height;
  raster.channels = alpha == AlphaUse::kKeep ? 4 : 3;
  const std::size_t row_bytes =
      std::size_t{chunks.width} * static_cast<std::size_t>(raster.channels);
  raster.pixels.resize(row_bytes * chunks.height);
  Job job;
  job.rest = input.bytes;
  if (!read_pixels(job, chunks, alpha, raster.pixels.data(), row_bytes)) {
    return job.ran_out ? input.truncated(job.reason) : input.corrupt(job.reason);
  }
  return raster;
}

}  // namespace foveal::codecs::png
