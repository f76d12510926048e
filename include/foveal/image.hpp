// Pictures: from the bytes of a file to (H, W, 3) uint8 RGB, and on to another size, with the bytes
// that transformers gives (load_image, then its torchvision or Pillow backend). All functions are
// pure and may run in any number of threads. `name` is what errors call the picture, mostly its
// path.
#pragma once

#include <foveal/error.hpp>
#include <foveal/units.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foveal {

// Checked before anything is allocated for the pixels.
struct ImageLimits {
  // Twice Pillow's MAX_IMAGE_PIXELS: where Pillow stops warning and refuses, so what transformers
  // opens opens.
  std::int64_t max_pixels = 178'956'970;
  // What that many pixels take uncompressed; a larger file holds something else than a picture for
  // us.
  Bytes max_bytes{std::int64_t{512} << 20};
  // libpng's own bound; the other formats cannot hold more than 65535.
  int max_side = 1'000'000;
};

// Extents in pixels, in the order of array dimensions.
struct ImageSize {
  int height = 0;
  int width = 0;
  friend bool operator==(const ImageSize&, const ImageSize&) = default;
};

struct Image {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> rgb;  // (height, width, 3)

  ImageSize size() const { return {.height = height, .width = width}; }
};

// What a header says, without decoding. Widths and heights of files are as stored, before
// orientation.
struct ImageInfo {
  std::string_view format;  // "JPEG", "PNG", "WebP"
  int width = 0;
  int height = 0;
  std::string_view mode;   // "RGB" "RGBA" "L" "LA" "P" "1" "CMYK" "I;16" "RGB;16" "LA;16" "RGBA;16"
  int bits = 8;            // per channel, or per palette index
  int orientation = 1;     // EXIF, 1..8
  bool has_alpha = false;  // a palette or colour key with transparency counts
  int frames = 1;          // the first one is what decode_image gives

  bool swaps_axes() const { return orientation >= 5; }
  int oriented_width() const { return swaps_axes() ? height : width; }
  int oriented_height() const { return swaps_axes() ? width : height; }
};

struct DecodeOptions {
  ImageLimits limits{};
  // Absent: alpha is dropped, as load_image does. Else pictures with alpha are blended onto this
  // (r, g, b).
  std::optional<std::array<std::uint8_t, 3>> background{};
  // The size that the picture will be resized to, after orientation. Given: a JPEG is decoded at
  // the smallest of 1/1, 1/2, 1/4, 1/8 that leaves both sides at least twice that, and the bytes
  // are no longer transformers'. Absent (the default): always at full size.
  std::optional<ImageSize> fast_jpeg_target{};
};

// Format, extents and orientation from the header.
// Errors: ImageEmpty, ImageTooManyBytes, ImageFormatUnknown, ImageFormatNotBuilt, ImageTruncated,
// ImageCorrupt, ImageTooManyPixels.
Result<ImageInfo> probe_image(std::span<const std::uint8_t> bytes, std::string_view name,
                              const ImageLimits& limits);

// Oriented RGB: alpha dropped or blended, 16-bit values cut to their high byte, palettes expanded,
// gray replicated, CMYK as Pillow converts it. Errors: those of probe_image, and OutOfMemory.
Result<Image> decode_image(std::span<const std::uint8_t> bytes, std::string_view name,
                           const DecodeOptions& options);

// The bytes of a regular file. Errors: ImageUnreadable, ImageTooManyBytes.
Result<std::vector<std::uint8_t>> read_image_file(const std::filesystem::path& path,
                                                  const ImageLimits& limits);

// An 8-bit RGB PNG. Errors: ImageSizeInvalid, ImageBufferSize, OutOfMemory.
Result<std::vector<std::uint8_t>> encode_png(const Image& image);

enum class ResizeFilter { kBilinear, kBicubic, kLanczos };  // antialiased; bicubic has a = -0.5

// Whose bytes to give: the two backends of transformers' image processors.
enum class ImageBackend { kTorchvision, kPillow };

// A rectangle of a picture, in pixels. It may stick out of the picture: what lies outside is black.
struct ImageWindow {
  int top = 0;
  int left = 0;
  int height = 0;
  int width = 0;
  friend bool operator==(const ImageWindow&, const ImageWindow&) = default;
};

struct ResizeOptions {
  ImageSize size;  // what the whole picture becomes
  ResizeFilter filter = ResizeFilter::kBicubic;
  ImageBackend backend = ImageBackend::kTorchvision;
  // Given: only this part of the resized picture is computed, as if it were cropped afterwards. A 1
  // x 4000 picture whose short side becomes 224 would be 224 x 896000; its centre is not.
  std::optional<ImageWindow> window{};
};

// Antialiased resize with the very bytes of the chosen backend.
// Errors: ImageSizeInvalid, ImageBufferSize, OutOfMemory.
Result<Image> resize_image(const Image& image, const ResizeOptions& options);

}  // namespace foveal
