// JPEG: baseline, extended, progressive and arithmetic, 8 bits; gray, YCbCr, RGB, CMYK and YCCK.
#pragma once

#include "image/codecs/codec.hpp"

namespace foveal::codecs::jpeg {

bool recognises(std::span<const std::uint8_t> bytes);
Result<ImageInfo> probe(const Input& input);
Result<Raster> decode(const Input& input, const ImageInfo& info, const DecodeOptions& options);

inline constexpr Codec kCodec{"JPEG", recognises, probe, decode};

}  // namespace foveal::codecs::jpeg
