#include "io/contact_sheet.hpp"

#include "io/canvas.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace foveal::io {
namespace {

// All in pixels. Five results a row beside the query fill a screen of 1400 pixels.
constexpr int kMargin = 32;
constexpr int kGap = 18;
constexpr int kCell = 196;                      // side of the square that holds a result
constexpr int kQuery = 2 * kCell + kGap - 110;  // side of the square that holds the query
constexpr int kPadding = 8;                     // between a picture and the edge of its card
constexpr int kCaption = 54;                    // below a result: score, bar, name
constexpr int kHeader = 66;                     // title and subtitle
constexpr int kColumns = 5;
constexpr int kRadius = 8;
constexpr int kBar = 4;
constexpr double kMostBlownUp = 2.0;  // past it, small pictures look broken

constexpr Color kPaper{246, 247, 249};
constexpr Color kCard{255, 255, 255};
constexpr Color kEdge{222, 225, 230};
constexpr Color kWell{238, 240, 243};
constexpr Color kInk{28, 32, 38};
constexpr Color kFaint{110, 118, 130};
constexpr Color kAccent{32, 96, 196};

constexpr TextStyle kTitle{.cell = 2.6, .stroke = 2.6, .color = kInk};
constexpr TextStyle kSmall{.cell = 1.5, .stroke = 1.25, .color = kFaint};
constexpr TextStyle kStrong{.cell = 1.6, .stroke = 1.9, .color = kInk};
constexpr TextStyle kLabel{.cell = 1.6, .stroke = 1.9, .color = kAccent};
constexpr TextStyle kBadge{.cell = 1.5, .stroke = 1.8, .color = kCard};

int side(SheetPlace place) {
  return (place == SheetPlace::kQuery ? kQuery : kCell) - 2 * kPadding;
}

// Bytes outside of printable ASCII become one question mark a character, not one a byte.
std::string ascii(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 && byte < 0xC0) {
      continue;  // the rest of a UTF-8 character
    }
    out += byte < 0x20 || byte >= 0x7F ? '?' : c;
  }
  return out;
}

// Cut in the middle: the ends of file names are what tells them apart.
std::string fitted(std::string text, const TextStyle& style, int width) {
  text = ascii(text);
  if (Canvas::text_width(text, style) <= width) {
    return text;
  }
  std::size_t keep = text.size();
  while (keep > 4 && Canvas::text_width(std::string(keep, 'x'), style) > width) {
    --keep;
  }
  const std::size_t tail = (keep - 2) * 3 / 5;
  return text.substr(0, keep - 2 - tail) + ".." + text.substr(text.size() - tail);
}

std::string base_name(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

void draw_card(Canvas& canvas, const Box& box, Color edge, int line) {
  canvas.fill({box.left - line, box.top - line, box.width + 2 * line, box.height + 2 * line}, edge,
              kRadius + line);
  canvas.fill(box, kCard, kRadius);
}

void draw_picture(Canvas& canvas, const Box& square, const SheetPicture& picture) {
  canvas.fill(square, kWell, 4);
  if (picture.image) {
    canvas.picture(square.left + (square.width - picture.image->width) / 2,
                   square.top + (square.height - picture.image->height) / 2, *picture.image);
    return;
  }
  const std::string text = "not readable";
  canvas.text(square.left + (square.width - Canvas::text_width(text, kSmall)) / 2,
              square.top + (square.height - Canvas::text_height(kSmall)) / 2, text, kSmall);
}

std::string score_text(double score) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%.4f", score);
  return text.data();
}

void draw_result(Canvas& canvas, int left, int top, std::size_t rank, const SheetPicture& picture) {
  draw_card(canvas, {left, top, kCell, kCell + kCaption}, kEdge, 1);
  const Box square{left + kPadding, top + kPadding, kCell - 2 * kPadding, kCell - 2 * kPadding};
  draw_picture(canvas, square, picture);
  const std::string number = std::to_string(rank);
  const Box badge{square.left + 5, square.top + 5,
                  std::max(22, Canvas::text_width(number, kBadge) + 12), 20};
  canvas.fill(badge, kInk, 6);
  canvas.text(badge.left + (badge.width - Canvas::text_width(number, kBadge)) / 2 + 1,
              badge.top + (badge.height - Canvas::text_height(kBadge)) / 2, number, kBadge);
  const int text_top = top + kCell + 2;
  const std::string score = score_text(picture.score);
  canvas.text(square.left, text_top, score, kStrong);
  const int bar_left = square.left + Canvas::text_width(score, kStrong) + 12;
  const Box bar{bar_left, text_top + 4, square.left + square.width - bar_left, kBar};
  canvas.fill(bar, kEdge, kBar / 2);
  const double share = std::clamp(picture.score, 0.0, 1.0);
  canvas.fill({bar.left, bar.top, static_cast<int>(std::lround(bar.width * share)), kBar}, kAccent,
              kBar / 2);
  canvas.text(square.left, text_top + 24, fitted(base_name(picture.name), kSmall, square.width),
              kSmall);
}

}  // namespace

Result<Image> sheet_thumbnail(const Image& image, SheetPlace place) {
  const double scale = std::min(
      kMostBlownUp, static_cast<double>(side(place)) / std::max({image.width, image.height, 1}));
  const ImageSize size{.height = std::max(1, static_cast<int>(std::lround(image.height * scale))),
                       .width = std::max(1, static_cast<int>(std::lround(image.width * scale)))};
  if (size == image.size()) {
    return image;
  }
  return resize_image(image,
                      {.size = size, .filter = ResizeFilter::kBicubic, .window = std::nullopt});
}

Result<Image> draw_contact_sheet(const ContactSheet& sheet) {
  const int count = static_cast<int>(sheet.nearest.size());
  const int columns = std::clamp(count, 1, kColumns);
  const int rows = std::max(1, (count + kColumns - 1) / kColumns);
  const int grid_left = kMargin + kQuery + 2 * kGap;
  const int top = kMargin + kHeader;
  const int row_height = kCell + kCaption + kGap;
  const int query_height = kQuery + kCaption;
  const ImageSize size{.height = top + std::max(query_height, rows * row_height - kGap) + kMargin,
                       .width = grid_left + columns * (kCell + kGap) - kGap + kMargin};
  Canvas canvas(size, kPaper);
  const int text_width = size.width - 2 * kMargin;
  canvas.text(kMargin, kMargin - 4, fitted(sheet.title, kTitle, text_width), kTitle);
  canvas.text(kMargin, kMargin + 26, fitted(sheet.subtitle, kSmall, text_width), kSmall);

  draw_card(canvas, {kMargin, top, kQuery, query_height}, kAccent, 3);
  const Box square{kMargin + kPadding, top + kPadding, kQuery - 2 * kPadding,
                   kQuery - 2 * kPadding};
  draw_picture(canvas, square, sheet.query);
  canvas.text(square.left, top + kQuery + 2, "query", kLabel);
  canvas.text(square.left, top + kQuery + 26,
              fitted(base_name(sheet.query.name), kSmall, square.width), kSmall);

  for (int i = 0; i < count; ++i) {
    draw_result(canvas, grid_left + (i % kColumns) * (kCell + kGap),
                top + (i / kColumns) * row_height, static_cast<std::size_t>(i) + 1,
                sheet.nearest[static_cast<std::size_t>(i)]);
  }
  return std::move(canvas).take();
}

}  // namespace foveal::io
