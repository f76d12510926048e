// WebP: lossy, lossless, with alpha; of an animation the first frame on its canvas.
#pragma once

#include "image/codecs/codec.hpp"

namespace foveal::codecs::webp {

bool recognises(std::span<const std::uint8_t> bytes);
Result<ImageInfo> probe(const Input& input);
Result<Raster> decode(const Input& input, const ImageInfo& info, const DecodeOptions& options);

inline constexpr Codec kCodec{"WebP", recognises, probe, decode};

}  // namespace foveal::codecs::webp
