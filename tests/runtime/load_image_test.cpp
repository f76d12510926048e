// Inputs of every kind up to their header, and what is refused before a pixel is made.
#include "runtime/load_image.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

namespace foveal {
namespace {

const std::string kDecode = std::string(FOVEAL_SOURCE_DIR) + "/tests/golden/units/decode/";

std::vector<std::uint8_t> file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

Image pixels(int height, int width, std::size_t bytes) {
  return Image{.width = width, .height = height, .rgb = std::vector<std::uint8_t>(bytes)};
}

ErrorCode code_of(ImageInput input, const ImageLimits& limits = {}) {
  const auto loaded = load_image(std::move(input), limits);
  EXPECT_FALSE(loaded.has_value());
  return loaded ? ErrorCode::kInternal : loaded.error().code();
}

TEST(LoadImage, APathAndItsBytesAreTheSamePicture) {
  auto by_path = load_image({.name = kDecode + "rgb.png"}, {});
  ASSERT_TRUE(by_path) << by_path.error().describe();
  auto by_bytes = load_image(
      {.name = "memory", .content = ImageInput::Bytes{file_bytes(kDecode + "rgb.png")}}, {});
  ASSERT_TRUE(by_bytes) << by_bytes.error().describe();
  EXPECT_EQ(by_path->size, by_bytes->size);
  EXPECT_EQ(by_bytes->image.name, "memory");
  const auto a = decode_loaded(std::move(by_path->image), {});
  const auto b = decode_loaded(std::move(by_bytes->image), {});
  ASSERT_TRUE(a) << a.error().describe();
  ASSERT_TRUE(b) << b.error().describe();
  EXPECT_EQ(a->rgb, b->rgb);
}

TEST(LoadImage, SizeIsThatAfterOrientationAndPredictsThePixels) {
  for (const char* name : {"rgb_444.jpg", "exif6.jpg", "exif8.jpg", "gray16.png", "rgb.webp"}) {
    auto loaded = load_image({.name = kDecode + name}, {});
    ASSERT_TRUE(loaded) << loaded.error().describe();
    const Bytes promised = loaded->image.decoded;
    const ImageSize size = loaded->size;
    const auto image = decode_loaded(std::move(loaded->image), {});
    ASSERT_TRUE(image) << image.error().describe();
    EXPECT_EQ(image->size(), size) << name;
    EXPECT_EQ(static_cast<std::int64_t>(image->rgb.size()), promised.v) << name;
  }
}

TEST(LoadImage, RefusesPixelsThatDoNotFitTheirSize) {
  EXPECT_EQ(code_of({.name = "p", .content = pixels(2, 3, 17)}), ErrorCode::kImageBufferSize);
  EXPECT_EQ(code_of({.name = "p", .content = pixels(0, 3, 0)}), ErrorCode::kImageSizeInvalid);
  EXPECT_EQ(code_of({.name = "p", .content = pixels(-1, -3, 9)}), ErrorCode::kImageSizeInvalid);
  EXPECT_EQ(code_of({.name = "p", .content = pixels(2, 3, 18)}, {.max_pixels = 5}),
            ErrorCode::kImageTooManyPixels);
  EXPECT_TRUE(load_image({.name = "p", .content = pixels(2, 3, 18)}, {}));
}

TEST(LoadImage, SaysWhyAPathOrBytesAreNoPicture) {
  EXPECT_EQ(code_of({.name = "/nonexistent/picture.png"}), ErrorCode::kImageUnreadable);
  EXPECT_EQ(code_of({.name = "b", .content = ImageInput::Bytes{}}), ErrorCode::kImageEmpty);
  EXPECT_EQ(code_of({.name = "b", .content = ImageInput::Bytes{{'h', 'e', 'l', 'l', 'o'}}}),
            ErrorCode::kImageFormatUnknown);
}

}  // namespace
}  // namespace foveal
