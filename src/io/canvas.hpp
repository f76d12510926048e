// Drawing on an RGB picture: rectangles with round corners, pictures, text. All in pixels, from the
// top left; what lies outside is cut off.
#pragma once

#include <foveal/image.hpp>

#include <cstdint>
#include <string_view>

namespace foveal::io {

struct Color {
  std::uint8_t r = 0;
  std::uint8_t g = 0;
  std::uint8_t b = 0;
};

struct Box {
  int left = 0;
  int top = 0;
  int width = 0;
  int height = 0;
};

struct TextStyle {
  double cell = 1.5;    // pixels a cell of the font: capitals are 7 cells high
  double stroke = 1.4;  // pixels
  Color color;
};

class Canvas {
 public:
  Canvas(ImageSize size, Color background);

  void fill(const Box& box, Color color, int radius = 0);
  void picture(int left, int top, const Image& image);
  // left and top of the capitals.
  void text(int left, int top, std::string_view text, const TextStyle& style);
  static int text_width(std::string_view text, const TextStyle& style);
  static int text_height(const TextStyle& style);  // of capitals

  Image take() && { return std::move(image_); }

 private:
  void blend(int x, int y, Color color, double cover);
  Image image_;
};

}  // namespace foveal::io
