// A contact sheet: every picture is on it, in its place and unstretched; hostile names do no harm.
#include "io/contact_sheet.hpp"

#include "io/canvas.hpp"
#include "io/font.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace foveal::io {
namespace {

Image plain(int width, int height, Color color) {
  Image image;
  image.width = width;
  image.height = height;
  for (int i = 0; i < width * height; ++i) {
    image.rgb.insert(image.rgb.end(), {color.r, color.g, color.b});
  }
  return image;
}

// Bounding box of a color.
Box box_of(const Image& image, Color color) {
  int left = image.width, top = image.height, right = -1, bottom = -1;
  for (int y = 0; y < image.height; ++y) {
    for (int x = 0; x < image.width; ++x) {
      const std::uint8_t* p = &image.rgb[static_cast<std::size_t>((y * image.width + x) * 3)];
      if (p[0] == color.r && p[1] == color.g && p[2] == color.b) {
        left = std::min(left, x);
        top = std::min(top, y);
        right = std::max(right, x);
        bottom = std::max(bottom, y);
      }
    }
  }
  return {left, top, right - left + 1, bottom - top + 1};
}

constexpr Color kRed{255, 0, 0};
constexpr Color kGreen{0, 255, 0};
constexpr Color kMagenta{255, 0, 255};

ContactSheet two_results() {
  ContactSheet sheet;
  sheet.title = "Nearest pictures";
  sheet.query = {.image = sheet_thumbnail(plain(400, 200, kRed), SheetPlace::kQuery).value(),
                 .name = "q.png"};
  sheet.nearest.push_back(
      {.image = sheet_thumbnail(plain(100, 300, kGreen), SheetPlace::kNearest).value(),
       .name = "a.png",
       .score = 0.9});
  sheet.nearest.push_back(
      {.image = sheet_thumbnail(plain(10, 10, kMagenta), SheetPlace::kNearest).value(),
       .name = "b.png",
       .score = 0.5});
  return sheet;
}

TEST(ContactSheet, ShowsQueryAndResultsSideBySideUnstretched) {
  const Image image = draw_contact_sheet(two_results()).value();
  const Box query = box_of(image, kRed);
  const Box first = box_of(image, kGreen);
  const Box second = box_of(image, kMagenta);
  EXPECT_NEAR(static_cast<double>(query.width) / query.height, 2.0, 0.03);
  EXPECT_NEAR(static_cast<double>(first.height) / first.width, 3.0, 0.06);
  EXPECT_EQ(second.width, 20) << "small pictures are blown up twice at most";
  EXPECT_GT(first.left, query.left + query.width);
  EXPECT_GT(second.left, first.left + first.width);
  EXPECT_GT(query.width, first.height) << "the query is the largest";
}

TEST(ContactSheet, GrowsByRowsOfFive) {
  ContactSheet sheet = two_results();
  const Image two = draw_contact_sheet(sheet).value();
  sheet.nearest.resize(5, sheet.nearest[0]);
  const Image five = draw_contact_sheet(sheet).value();
  sheet.nearest.resize(11, sheet.nearest[0]);
  const Image eleven = draw_contact_sheet(sheet).value();
  EXPECT_GT(five.width, two.width);
  EXPECT_EQ(eleven.width, five.width);
  EXPECT_GT(eleven.height, five.height);
}

TEST(ContactSheet, TakesPicturesThatCannotBeReadAndNamesOfAnyBytes) {
  ContactSheet sheet = two_results();
  sheet.nearest[0].image.reset();
  sheet.nearest[0].name = std::string("\xff\xfe\x00 \xc3\xa9", 6) + std::string(5000, 'n') + ".png";
  sheet.query.name = "";
  sheet.nearest[1].score = -1;
  EXPECT_TRUE(draw_contact_sheet(sheet));
  sheet.nearest.clear();
  EXPECT_TRUE(draw_contact_sheet(sheet));
}

TEST(ContactSheet, ThumbnailsOfExtremeShapesKeepAPixel) {
  const Image thin = sheet_thumbnail(plain(3000, 1, kRed), SheetPlace::kNearest).value();
  EXPECT_EQ(thin.height, 1);
  EXPECT_LE(thin.width, 200);
}

TEST(Canvas, CutsOffWhatLiesOutside) {
  Canvas canvas({.height = 8, .width = 8}, {0, 0, 0});
  canvas.fill({-5, -5, 100, 100}, kRed, 3);
  canvas.text(-20, -20, "outside and inside", {.cell = 3, .stroke = 3, .color = kGreen});
  canvas.picture(6, 6, plain(9, 9, kMagenta));
  const Image image = std::move(canvas).take();
  EXPECT_EQ(image.rgb.size(), 8U * 8U * 3U);
}

TEST(Font, EveryGlyphButTheSpaceShowsAndNoTwoLookAlike) {
  for (char a = '!'; a <= '~'; ++a) {
    EXPECT_TRUE(std::any_of(glyph(a).rows.begin(), glyph(a).rows.end(), [](auto r) {
      return r != 0;
    })) << a;
    for (char b = static_cast<char>(a + 1); b <= '~'; ++b) {
      EXPECT_NE(glyph(a).rows, glyph(b).rows) << a << b;
    }
  }
}

}  // namespace
}  // namespace foveal::io
