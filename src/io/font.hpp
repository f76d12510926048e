// A small font for captions: ASCII glyphs as cells that are on or off. canvas.cpp joins
// neighbouring cells with round strokes, so that one drawing serves every size.
#pragma once

#include <array>
#include <cstdint>

namespace foveal::io {

inline constexpr int kGlyphWidth = 5;      // cells
inline constexpr int kGlyphRows = 9;       // cells, two of them below the base line
inline constexpr int kGlyphAdvance = 6;    // cells from one character to the next
inline constexpr int kGlyphCapHeight = 7;  // cells

struct Glyph {
  std::array<std::uint8_t, kGlyphRows> rows;  // 5 bits each, the leftmost cell the highest
  bool on(int x, int y) const {
    return x >= 0 && x < kGlyphWidth && y >= 0 && y < kGlyphRows &&
           ((rows[static_cast<std::size_t>(y)] >> (kGlyphWidth - 1 - x)) & 1) != 0;
  }
};

// A character outside of ASCII shows as a question mark.
const Glyph& glyph(char c);

}  // namespace foveal::io
