// PNG: every colour type and depth, interlaced or not, and the default image of an APNG.
#pragma once

#include "image/codecs/codec.hpp"

namespace foveal::codecs::png {

bool recognises(std::span<const std::uint8_t> bytes);
Result<ImageInfo> probe(const Input& input);
Result<Raster> decode(const Input& input, const ImageInfo& info, const DecodeOptions& options);

inline constexpr Codec kCodec{"PNG", recognises, probe, decode};

}  // namespace foveal::codecs::png
