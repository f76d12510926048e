// Orientation 1..8 as EXIF defines it: finding it in metadata, and turning pixels upright.
#pragma once

#include <foveal/image.hpp>

#include <cstdint>
#include <optional>
#include <span>

namespace foveal {

// The tag 0x0112 of IFD 0 of an EXIF block, with or without its "Exif\0\0" in front. nullopt: the
// tag is not there or the block is damaged. A value outside 1..8 is 1: Pillow turns nothing for it
// either.
std::optional<int> exif_orientation(std::span<const std::uint8_t> exif);

// tiff:Orientation in an XMP packet, found as Pillow finds it: by text, not by parsing.
std::optional<int> xmp_orientation(std::span<const std::uint8_t> xmp);

// EXIF first, XMP where EXIF has no orientation, else 1. Empty spans: absent.
int find_orientation(std::span<const std::uint8_t> exif, std::span<const std::uint8_t> xmp);

// Turns a stored picture upright; 1 gives it back as it is.
Image apply_orientation(Image image, int orientation);

}  // namespace foveal
