#include "io/canvas.hpp"

#include "io/font.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace foveal::io {
namespace {

struct Segment {
  double x0, y0, x1, y1;  // pixels
};

double distance_to(const Segment& s, double x, double y) {
  const double dx = s.x1 - s.x0;
  const double dy = s.y1 - s.y0;
  const double length2 = dx * dx + dy * dy;
  const double t =
      length2 == 0 ? 0 : std::clamp(((x - s.x0) * dx + (y - s.y0) * dy) / length2, 0.0, 1.0);
  return std::hypot(x - (s.x0 + t * dx), y - (s.y0 + t * dy));
}

// Strokes of a glyph: cells side by side are joined; a diagonal only where no corner cell joins its
// ends, else every bend would be filled. A cell without neighbours is a dot.
std::vector<Segment> strokes(const Glyph& g, double left, double top, double cell) {
  std::vector<Segment> out;
  const auto join = [&](int x0, int y0, int x1, int y1) {
    out.push_back({left + (x0 + 0.5) * cell, top + (y0 + 0.5) * cell, left + (x1 + 0.5) * cell,
                   top + (y1 + 0.5) * cell});
  };
  for (int y = 0; y < kGlyphRows; ++y) {
    for (int x = 0; x < kGlyphWidth; ++x) {
      if (!g.on(x, y)) {
        continue;
      }
      join(x, y, x, y);
      if (g.on(x + 1, y)) {
        join(x, y, x + 1, y);
      }
      if (g.on(x, y + 1)) {
        join(x, y, x, y + 1);
      }
      if (g.on(x + 1, y + 1) && !g.on(x + 1, y) && !g.on(x, y + 1)) {
        join(x, y, x + 1, y + 1);
      }
      if (g.on(x - 1, y + 1) && !g.on(x - 1, y) && !g.on(x, y + 1)) {
        join(x, y, x - 1, y + 1);
      }
    }
  }
  return out;
}

std::uint8_t mix(std::uint8_t below, std::uint8_t above, double cover) {
  return static_cast<std::uint8_t>(std::lround(below + (above - below) * cover));
}

}  // namespace

Canvas::Canvas(ImageSize size, Color background) {
  image_.width = size.width;
  image_.height = size.height;
  image_.rgb.resize(static_cast<std::size_t>(size.width) * static_cast<std::size_t>(size.height) *
                    3);
  fill({.width = size.width, .height = size.height}, background);
}

void Canvas::blend(int x, int y, Color color, double cover) {
  if (x < 0 || y < 0 || x >= image_.width || y >= image_.height || cover <= 0) {
    return;
  }
  std::uint8_t* p =
      &image_.rgb[(static_cast<std::size_t>(y) * static_cast<std::size_t>(image_.width) +
                   static_cast<std::size_t>(x)) *
                  3];
  cover = std::min(cover, 1.0);
  p[0] = mix(p[0], color.r, cover);
  p[1] = mix(p[1], color.g, cover);
  p[2] = mix(p[2], color.b, cover);
}

void Canvas::fill(const Box& box, Color color, int radius) {
  for (int y = 0; y < box.height; ++y) {
    for (int x = 0; x < box.width; ++x) {
      // How far the middle of the pixel lies inside of a corner's circle.
      const double dx = std::max({radius - (x + 0.5), x + 0.5 - (box.width - radius), 0.0});
      const double dy = std::max({radius - (y + 0.5), y + 0.5 - (box.height - radius), 0.0});
      const double cover =
          radius == 0 ? 1.0 : std::clamp(radius - std::hypot(dx, dy) + 0.5, 0.0, 1.0);
      blend(box.left + x, box.top + y, color, cover);
    }
  }
}

void Canvas::picture(int left, int top, const Image& image) {
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const std::uint8_t* p =
          &image.rgb[(static_cast<std::size_t>(y) * static_cast<std::size_t>(image.width) +
                      static_cast<std::size_t>(x)) *
                     3];
      blend(left + x, top + y, {p[0], p[1], p[2]}, 1.0);
    }
  }
}

void Canvas::text(int left, int top, std::string_view text, const TextStyle& style) {
  const double reach = style.stroke / 2 + 0.5;
  double at = left;
  for (const char c : text) {
    const std::vector<Segment> lines = strokes(glyph(c), at, top, style.cell);
    const int right = static_cast<int>(std::ceil(at + kGlyphAdvance * style.cell + reach));
    const int bottom = static_cast<int>(std::ceil(top + kGlyphRows * style.cell + reach));
    for (int y = static_cast<int>(top - reach); !lines.empty() && y < bottom; ++y) {
      for (int x = static_cast<int>(at - reach); x < right; ++x) {
        double nearest = reach;
        for (const Segment& line : lines) {
          nearest = std::min(nearest, distance_to(line, x + 0.5, y + 0.5));
        }
        blend(x, y, style.color, reach - nearest);
      }
    }
    at += kGlyphAdvance * style.cell;
  }
}

int Canvas::text_width(std::string_view text, const TextStyle& style) {
  // The gap behind the last character is not part of it.
  return text.empty() ? 0
                      : static_cast<int>(std::ceil(
                            (static_cast<double>(text.size()) * kGlyphAdvance - 1) * style.cell));
}

int Canvas::text_height(const TextStyle& style) {
  return static_cast<int>(std::ceil(kGlyphCapHeight * style.cell));
}

}  // namespace foveal::io
