// What a format provides: one row of the table in decode.cpp. Codecs see one picture in memory and
// know nothing of limits, orientation or blending: the facade checks and applies those.
#pragma once

#include <foveal/error.hpp>
#include <foveal/image.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foveal::codecs {

struct Input {
  std::span<const std::uint8_t> bytes;
  std::string_view name;  // for errors

  Error truncated(std::string_view reason) const {
    return Error(ErrorCode::kImageTruncated, {{"file", name}, {"reason", reason}});
  }
  Error corrupt(std::string_view reason) const {
    return Error(ErrorCode::kImageCorrupt, {{"file", name}, {"reason", reason}});
  }
  Error not_built(std::string_view format, std::string_view expected) const {
    return Error(ErrorCode::kImageFormatNotBuilt,
                 {{"file", name}, {"format", format}, {"expected", expected}});
  }
};

// Pixels as stored, before orientation.
struct Raster {
  int width = 0;
  int height = 0;
  int channels = 3;                  // 3: RGB; 4: RGBA, not premultiplied
  std::vector<std::uint8_t> pixels;  // (height, width, channels)
};

struct Codec {
  std::string_view format;
  bool (*recognises)(
      std::span<const std::uint8_t> bytes);  // by the first bytes, of which there may be few
  // Both null where this build cannot read the format.
  Result<ImageInfo> (*probe)(const Input& input);
  // `info` is what probe said, its extents are within the limits. RGBA only where
  // options.background is set and info.has_alpha is.
  Result<Raster> (*decode)(const Input& input, const ImageInfo& info, const DecodeOptions& options);
};

// Big-endian and little-endian numbers; the caller has checked that they lie inside.
inline std::uint32_t be16(const std::uint8_t* p) {
  return static_cast<std::uint32_t>(p[0]) << 8 | p[1];
}
inline std::uint32_t be32(const std::uint8_t* p) {
  return be16(p) << 16 | be16(p + 2);
}

inline bool starts_with(std::span<const std::uint8_t> bytes, std::string_view magic) {
  return bytes.size() >= magic.size() &&
         std::string_view(reinterpret_cast<const char*>(bytes.data()), magic.size()) == magic;
}

}  // namespace foveal::codecs
