// Decoding against the stored bytes of transformers.image_utils.load_image, and what the header
// says.
#include "image/support.hpp"

#include <foveal/image.hpp>

namespace foveal {
namespace {

constexpr std::array<std::uint8_t, 3> kWhite{255, 255, 255};

bool is_built(const std::filesystem::path& path) {
  return path.extension() == ".jpg" || path.extension() == ".png" || path.extension() == ".webp";
}

TEST(Decode, GivesTheJudgedBytes) {
  const auto expected = read_tensors(decode_dir() / "expected.safetensors");
  const auto notes = nlohmann::json::parse(read_bytes(decode_dir() / "notes.json"));
  int compared = 0;
  for (const auto& [file, note] : notes.items()) {
    if (!is_built(file)) {
      continue;
    }
    const auto got = decode_image(read_bytes(decode_dir() / file), file, {});
    ASSERT_TRUE(got.has_value()) << got.error().describe();
    EXPECT_TRUE(same_image(*got, expected.at(note["judged"]).image())) << file;
    ++compared;
  }
  EXPECT_EQ(compared, 25);
}

// What an opened picture becomes in transformers: the same arithmetic of blending onto white.
TEST(Decode, BlendsAlphaOntoTheBackgroundAsTransformersOntoWhite) {
  const auto expected = read_tensors(decode_dir() / "expected.safetensors");
  for (const char* file : {"rgba.png", "gray_alpha.png", "palette_transparent.png"}) {
    const auto got = decode_image(read_bytes(decode_dir() / file), file, {.background = kWhite});
    ASSERT_TRUE(got.has_value()) << got.error().describe();
    EXPECT_TRUE(same_image(*got, expected.at(std::string(file) + ".open").image())) << file;
  }
}

TEST(Decode, BackgroundChangesNothingWithoutAlpha) {
  for (const char* file : {"rgb.png", "gray16.png", "palette.png", "rgb_420.jpg", "lossy.webp"}) {
    const FileBytes bytes = read_bytes(decode_dir() / file);
    const auto plain = decode_image(bytes, file, {});
    const auto on_red = decode_image(bytes, file, {.background = {{255, 0, 0}}});
    ASSERT_TRUE(plain.has_value() && on_red.has_value());
    EXPECT_TRUE(same_image(*on_red, *plain)) << file;
  }
}

TEST(Decode, BackgroundShowsThroughWhereAlphaIsZero) {
  // One transparent pixel whose colour is hidden: filter byte 0, then r g b a, in a stored deflate
  // block.
  const FileBytes data{0x78, 0x01, 0x01, 0x05, 0x00, 0xFA, 0xFF, 0,
                       10,   20,   30,   0,    0x00, 0xA5, 0x00, 0x3D};
  const FileBytes png = png_file(1, 1, 8, 6, {{"IDAT", data}});
  const auto dropped = decode_image(png, "p.png", {});
  ASSERT_TRUE(dropped.has_value()) << dropped.error().describe();
  EXPECT_EQ(dropped->rgb, (FileBytes{10, 20, 30}));
  const auto blended = decode_image(png, "p.png", {.background = {{1, 2, 3}}});
  ASSERT_TRUE(blended.has_value()) << blended.error().describe();
  EXPECT_EQ(blended->rgb, (FileBytes{1, 2, 3}));
}

// Made by tests/golden/image/make.py: kinds that the units do not have, with Pillow's bytes.
TEST(Decode, GivesPillowsBytesForEveryKind) {
  const auto expected = read_tensors(made_dir() / "expected.safetensors");
  int compared = 0;
  for (const auto& path : files_in(made_dir(), {".jpg", ".png", ".webp"})) {
    const std::string file = path.filename().string();
    const FileBytes bytes = read_bytes(path);
    const auto got = decode_image(bytes, file, {});
    ASSERT_TRUE(got.has_value()) << got.error().describe();
    EXPECT_TRUE(same_image(*got, expected.at(file).image())) << file;
    if (const auto white = expected.find(file + ".white"); white != expected.end()) {
      const auto blended = decode_image(bytes, file, {.background = kWhite});
      ASSERT_TRUE(blended.has_value()) << blended.error().describe();
      EXPECT_TRUE(same_image(*blended, white->second.image())) << file << " onto white";
    }
    ++compared;
  }
  EXPECT_GE(compared, 30);
}

TEST(Probe, SaysWhatDecodingGives) {
  std::vector<std::filesystem::path> files = files_in(decode_dir(), {".jpg", ".png", ".webp"});
  const auto more = files_in(made_dir(), {".jpg", ".png", ".webp"});
  files.insert(files.end(), more.begin(), more.end());
  for (const auto& path : files) {
    const FileBytes bytes = read_bytes(path);
    const auto info = probe_image(bytes, path.string(), {});
    const auto image = decode_image(bytes, path.string(), {});
    ASSERT_TRUE(info.has_value() && image.has_value()) << path;
    EXPECT_EQ(info->oriented_width(), image->width) << path;
    EXPECT_EQ(info->oriented_height(), image->height) << path;
  }
}

TEST(Probe, NamesModeBitsAndOrientation) {
  struct Case {
    const char* file;
    const char* format;
    const char* mode;
    int bits;
    int orientation;
    bool has_alpha;
  };
  const std::vector<Case> cases{{"rgb_444.jpg", "JPEG", "RGB", 8, 1, false},
                                {"gray.jpg", "JPEG", "L", 8, 1, false},
                                {"cmyk.jpg", "JPEG", "CMYK", 8, 1, false},
                                {"exif2.jpg", "JPEG", "RGB", 8, 2, false},
                                {"exif6.jpg", "JPEG", "RGB", 8, 6, false},
                                {"exif8.jpg", "JPEG", "RGB", 8, 8, false},
                                {"rgb.png", "PNG", "RGB", 8, 1, false},
                                {"rgba.png", "PNG", "RGBA", 8, 1, true},
                                {"gray.png", "PNG", "L", 8, 1, false},
                                {"gray_alpha.png", "PNG", "LA", 8, 1, true},
                                {"palette.png", "PNG", "P", 8, 1, false},
                                {"palette_transparent.png", "PNG", "P", 8, 1, true},
                                {"bilevel.png", "PNG", "1", 1, 1, false},
                                {"gray16.png", "PNG", "I;16", 16, 1, false},
                                {"rgb16.png", "PNG", "RGB;16", 16, 1, false},
                                {"rgb.webp", "WebP", "RGB", 8, 1, false}};
  for (const Case& c : cases) {
    const auto info = probe_image(read_bytes(decode_dir() / c.file), c.file, {});
    ASSERT_TRUE(info.has_value()) << info.error().describe();
    EXPECT_EQ(info->format, c.format) << c.file;
    EXPECT_EQ(info->mode, c.mode) << c.file;
    EXPECT_EQ(info->bits, c.bits) << c.file;
    EXPECT_EQ(info->orientation, c.orientation) << c.file;
    EXPECT_EQ(info->has_alpha, c.has_alpha) << c.file;
    EXPECT_EQ(info->frames, 1) << c.file;
  }
}

TEST(Probe, CountsFramesOfAnimations) {
  for (const char* file : {"animated.png", "animated.webp"}) {
    const auto info = probe_image(read_bytes(made_dir() / file), file, {});
    ASSERT_TRUE(info.has_value()) << info.error().describe();
    EXPECT_EQ(info->frames, 3) << file;
  }
}

TEST(FastJpeg, DecodesAtTheSmallestScaleThatLeavesTwiceTheTarget) {
  const FileBytes bytes = read_bytes(decode_dir() / "rgb_444.jpg");  // 52 x 38
  const auto decoded = [&](ImageSize target) {
    return decode_image(bytes, "a.jpg", {.fast_jpeg_target = target}).value().size();
  };
  EXPECT_EQ(decoded({10, 10}), (ImageSize{38, 52}));  // 19 is less than twice 10
  EXPECT_EQ(decoded({9, 13}), (ImageSize{19, 26}));
  EXPECT_EQ(decoded({9, 14}), (ImageSize{38, 52}));
  EXPECT_EQ(decoded({4, 6}), (ImageSize{10, 13}));
  EXPECT_EQ(decoded({1, 1}), (ImageSize{5, 7}));
}

TEST(FastJpeg, TargetIsOfTheUprightPicture) {
  const FileBytes bytes =
      read_bytes(decode_dir() / "exif6.jpg");  // 52 x 38 stored, 38 x 52 upright
  const auto image = decode_image(bytes, "a.jpg", {.fast_jpeg_target = ImageSize{13, 9}});
  ASSERT_TRUE(image.has_value());
  EXPECT_EQ(image->size(), (ImageSize{26, 19}));
}

TEST(FastJpeg, ChangesNoOtherFormat) {
  const FileBytes bytes = read_bytes(decode_dir() / "rgb.png");
  const auto image = decode_image(bytes, "a.png", {.fast_jpeg_target = ImageSize{1, 1}});
  ASSERT_TRUE(image.has_value());
  EXPECT_TRUE(same_image(*image, *decode_image(bytes, "a.png", {})));
}

TEST(EncodePng, RoundTrips) {
  for (const ImageSize size :
       {ImageSize{1, 1}, ImageSize{1, 400}, ImageSize{400, 1}, ImageSize{33, 57}}) {
    const Image image = test_image(size.width, size.height);
    const auto bytes = encode_png(image);
    ASSERT_TRUE(bytes.has_value());
    const auto again = decode_image(*bytes, "sheet.png", {});
    ASSERT_TRUE(again.has_value()) << again.error().describe();
    EXPECT_TRUE(same_image(*again, image));
  }
}

TEST(EncodePng, RefusesWhatIsNoPicture) {
  EXPECT_TRUE(is_error(encode_png(Image{}), ErrorCode::kImageSizeInvalid));
  EXPECT_TRUE(is_error(encode_png(Image{.width = 2, .height = 2, .rgb = FileBytes(11)}),
                       ErrorCode::kImageBufferSize));
}

}  // namespace
}  // namespace foveal
