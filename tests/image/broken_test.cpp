// Files that are empty, foreign, cut off, damaged or too large: each gets its error, quickly and
// without a crash.
#include "image/support.hpp"

#include <foveal/image.hpp>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FOVEAL_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FOVEAL_TEST_SANITIZED 1
#endif
#endif

namespace foveal {
namespace {

std::vector<std::filesystem::path> all_pictures() {
  std::vector<std::filesystem::path> files = files_in(decode_dir(), {".jpg", ".png", ".webp"});
  const auto more = files_in(made_dir(), {".jpg", ".png", ".webp"});
  files.insert(files.end(), more.begin(), more.end());
  return files;
}

DecodeOptions with_limits(const ImageLimits& limits) {
  return {.limits = limits};
}

FileBytes bytes_of(std::string_view text) {
  return {text.begin(), text.end()};
}

TEST(Broken, EmptyFile) {
  EXPECT_TRUE(is_error(probe_image({}, "a.jpg", {}), ErrorCode::kImageEmpty));
  EXPECT_TRUE(is_error(decode_image({}, "a.jpg", {}), ErrorCode::kImageEmpty));
}

TEST(Broken, UnknownFormatShowsItsFirstBytes) {
  const auto got = decode_image(bytes_of("<!DOCTYPE html>"), "page.jpg", {});
  ASSERT_TRUE(is_error(got, ErrorCode::kImageFormatUnknown));
  EXPECT_EQ(got.error().field("bytes")->text(), "3c 21 44 4f 43 54 59 50");
  EXPECT_EQ(got.error().field("known")->text(), "JPEG, PNG or WebP");
  EXPECT_EQ(got.error().field("file")->text(), "page.jpg");
}

TEST(Broken, FormatsThatAreNotBuiltAreNamed) {
  const std::vector<std::pair<std::string, FileBytes>> cases{
      {"GIF", read_bytes(decode_dir() / "palette.gif")},
      {"BMP", read_bytes(decode_dir() / "rgb.bmp")},
      {"TIFF", read_bytes(decode_dir() / "rgb.tiff")},
      {"PPM", read_bytes(decode_dir() / "rgb.ppm")},
      {"AVIF", bytes_of(std::string_view("\0\0\0\x20"
                                         "ftypavif\0\0\0\0",
                                         16))},
      {"HEIC", bytes_of(std::string_view("\0\0\0\x18"
                                         "ftypheic\0\0\0\0",
                                         16))},
      {"JPEG XL", bytes_of("\xFF\x0A\x10\x20")},
      {"JPEG XL", bytes_of(std::string_view("\0\0\0\x0CJXL \r\n\x87\n", 12))},
      {"TIFF", bytes_of(std::string_view("MM\0*\0\0\0\x08", 8))}};
  for (const auto& [format, bytes] : cases) {
    const auto got = decode_image(bytes, "a.pic", {});
    ASSERT_TRUE(is_error(got, ErrorCode::kImageFormatNotBuilt)) << format;
    EXPECT_EQ(got.error().field("format")->text(), format);
    EXPECT_TRUE(is_error(probe_image(bytes, "a.pic", {}), ErrorCode::kImageFormatNotBuilt))
        << format;
  }
}

// A whole picture is never the answer to a part of a file.
TEST(Broken, CutOffAnywhereIsAnError) {
  for (const auto& path : all_pictures()) {
    const FileBytes whole = read_bytes(path);
    for (std::size_t part = 0; part < 16; ++part) {
      const FileBytes cut(whole.begin(),
                          whole.begin() + static_cast<std::ptrdiff_t>(whole.size() * part / 16));
      const auto got = decode_image(cut, "cut", {});
      ASSERT_FALSE(got.has_value()) << path << " cut to " << part << "/16";
      const ErrorCode code = got.error().code();
      if (part == 0) {
        EXPECT_EQ(code, ErrorCode::kImageEmpty);
      } else if (cut.size() >= 12) {
        EXPECT_EQ(code, ErrorCode::kImageTruncated)
            << path << " cut to " << part << "/16: " << got.error().describe();
      }
      EXPECT_TRUE(is_error(got.error(), code));
    }
  }
}

TEST(Broken, LastByteMissing) {
  for (const auto& path : all_pictures()) {
    FileBytes cut = read_bytes(path);
    cut.pop_back();
    EXPECT_TRUE(is_error(decode_image(cut, "cut", {}), ErrorCode::kImageTruncated)) << path;
  }
}

// Any answer is fine, as long as it is one: no crash, no hang, buffers that fit the extents.
TEST(Broken, FlippedBytesGiveAPictureOrAnError) {
  constexpr int kTries = 150;
  std::mt19937 random(7);
  const ImageLimits limits{.max_pixels = 1 << 20, .max_bytes = Bytes(1 << 20), .max_side = 1 << 14};
  const auto start = std::chrono::steady_clock::now();
  for (const auto& path : all_pictures()) {
    const FileBytes whole = read_bytes(path);
    for (int i = 0; i < kTries; ++i) {
      FileBytes damaged = whole;
      for (int flips = 1 + static_cast<int>(random() % 4); flips > 0; --flips) {
        damaged[random() % damaged.size()] = static_cast<std::uint8_t>(random());
      }
      const auto info = probe_image(damaged, "damaged", limits);
      const auto got =
          decode_image(damaged, "damaged", {.limits = limits, .background = {{1, 2, 3}}});
      if (got.has_value()) {
        ASSERT_TRUE(info.has_value()) << path;
        ASSERT_EQ(got->rgb.size(),
                  static_cast<std::size_t>(got->width) * static_cast<std::size_t>(got->height) * 3);
        ASSERT_EQ(got->width, info->oriented_width()) << path;
      } else {
        EXPECT_TRUE(is_error(got.error(), got.error().code()));
      }
    }
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

// Cut in the middle and closed again, as some tools do: the lower half would be gray.
TEST(Broken, CutOffJpegWithAnEndMarkerIsStillTruncated) {
  for (const char* file : {"rgb_444.jpg", "gray.jpg", "cmyk.jpg"}) {
    FileBytes cut = read_bytes(decode_dir() / file);
    cut.resize(cut.size() * 3 / 4);
    cut.insert(cut.end(), {0xFF, 0xD9});
    EXPECT_TRUE(is_error(decode_image(cut, file, {}), ErrorCode::kImageTruncated)) << file;
  }
}

// Where two bytes stand, from an offset on.
std::ptrdiff_t find_marker(const FileBytes& bytes, std::uint8_t marker, std::ptrdiff_t from) {
  const FileBytes wanted{0xFF, marker};
  return std::search(bytes.begin() + from, bytes.end(), wanted.begin(), wanted.end()) -
         bytes.begin();
}

// The first scan, of the DC coefficients, over and over: valid, and a walk over all of the picture
// each time.
TEST(Broken, JpegOfEndlessScansIsCorrupt) {
  const FileBytes whole = read_bytes(made_dir() / "gray_progressive.jpg");
  const std::ptrdiff_t begin = find_marker(whole, 0xDA, 0);
  const std::ptrdiff_t end = find_marker(whole, 0xC4, begin);  // the tables of the next scan
  ASSERT_LT(end, static_cast<std::ptrdiff_t>(whole.size()));
  const auto with_scans = [&](int count) {
    FileBytes out(whole.begin(), whole.begin() + begin);
    for (int i = 0; i < count; ++i) {
      out.insert(out.end(), whole.begin() + begin, whole.begin() + end);
    }
    out.insert(out.end(), whole.begin() + end, whole.end());
    return out;
  };
  EXPECT_TRUE(decode_image(with_scans(400), "scans.jpg", {}).has_value());
  const auto got = decode_image(with_scans(600), "scans.jpg", {});
  ASSERT_TRUE(is_error(got, ErrorCode::kImageCorrupt));
  EXPECT_EQ(got.error().field("reason")->text(), "it has more than 500 scans");
}

TEST(Broken, DamagedLastChecksumIsCorrupt) {
  FileBytes png = read_bytes(decode_dir() / "rgb.png");
  png[png.size() - 13] ^= 0xFF;  // ends the data; the end chunk has 12 bytes
  EXPECT_TRUE(is_error(decode_image(png, "a.png", {}), ErrorCode::kImageCorrupt));
}

TEST(Broken, DamagedChecksumIsCorrupt) {
  FileBytes png = read_bytes(decode_dir() / "rgb.png");
  png[png.size() / 2] ^= 0xFF;
  EXPECT_TRUE(is_error(decode_image(png, "a.png", {}), ErrorCode::kImageCorrupt));
}

TEST(Broken, HeaderWithoutPictureIsCorrupt) {
  EXPECT_TRUE(
      is_error(decode_image(png_file(4, 4, 8, 2, {}), "a.png", {}), ErrorCode::kImageCorrupt));
  EXPECT_TRUE(
      is_error(decode_image(png_file(0, 4, 8, 2, {}), "a.png", {}), ErrorCode::kImageCorrupt));
  EXPECT_TRUE(
      is_error(decode_image(png_file(4, 4, 3, 2, {}), "a.png", {}), ErrorCode::kImageCorrupt));
  EXPECT_TRUE(is_error(decode_image(png_file(4, 4, 8, 3, {{"IDAT", FileBytes(9)}}), "a.png", {}),
                       ErrorCode::kImageCorrupt));
  EXPECT_TRUE(
      is_error(decode_image(bytes_of("\xFF\xD8\xFF\xD9"), "a.jpg", {}), ErrorCode::kImageCorrupt));
}

TEST(Broken, PngMangledAsTextIsCorrupt) {
  FileBytes png = read_bytes(decode_dir() / "rgb.png");
  png.erase(png.begin() + 4);  // \r\n became \n
  EXPECT_TRUE(is_error(decode_image(png, "a.png", {}), ErrorCode::kImageCorrupt));
}

// A frame header that says what it likes, and a scan of a few bytes.
FileBytes jpeg_claiming(std::uint8_t marker, std::uint8_t bits, std::uint16_t width,
                        std::uint16_t height, std::uint8_t components) {
  FileBytes out{0xFF, 0xD8, 0xFF, marker, 0, static_cast<std::uint8_t>(8 + 3 * components), bits};
  for (const std::uint16_t side : {height, width}) {
    out.push_back(static_cast<std::uint8_t>(side >> 8));
    out.push_back(static_cast<std::uint8_t>(side));
  }
  out.push_back(components);
  for (std::uint8_t c = 1; c <= components; ++c) {
    out.insert(out.end(), {c, 0x11, 0});
  }
  out.insert(out.end(), {0xFF, 0xDA, 0, 8, 1, 1, 0, 0, 63, 0, 0x12, 0x34, 0xFF, 0xD9});
  return out;
}

TEST(Broken, JpegKindsThatNobodyReadsAreNamed) {
  for (const FileBytes& bytes : {jpeg_claiming(0xC3, 8, 8, 8, 3), jpeg_claiming(0xC1, 12, 8, 8, 3),
                                 jpeg_claiming(0xC0, 8, 8, 8, 2)}) {
    EXPECT_TRUE(is_error(decode_image(bytes, "a.jpg", {}), ErrorCode::kImageFormatNotBuilt));
  }
}

TEST(Limits, BombHeadersAreRefusedBeforeAllocation) {
  const auto start = std::chrono::steady_clock::now();
  const FileBytes png = png_file(70000, 70000, 8, 2, {{"IDAT", FileBytes(1000)}});
  const FileBytes jpeg = jpeg_claiming(0xC0, 8, 65000, 65000, 3);
  for (const FileBytes& bytes : {png, jpeg}) {
    EXPECT_FALSE(probe_image(bytes, "bomb", {}).has_value());
    EXPECT_FALSE(decode_image(bytes, "bomb", {}).has_value());
  }
  const auto got = decode_image(png, "bomb.png", {});
  ASSERT_TRUE(is_error(got, ErrorCode::kImageTooManyPixels));
  EXPECT_EQ(got.error().field("width")->text(), "70000");
  EXPECT_EQ(got.error().field("limit")->text(), "178956970");
  // Whoever raises the limit still gets no gigabytes for a kilobyte.
  const ImageLimits none{
      .max_pixels = INT64_MAX, .max_bytes = Bytes(INT64_MAX), .max_side = INT32_MAX};
  EXPECT_TRUE(is_error(decode_image(png, "bomb.png", with_limits(none)), ErrorCode::kImageCorrupt));
  EXPECT_TRUE(
      is_error(decode_image(jpeg, "bomb.jpg", with_limits(none)), ErrorCode::kImageTruncated));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

TEST(Limits, ApplyToPixelsSidesAndBytes) {
  const FileBytes bytes = read_bytes(decode_dir() / "rgb.png");  // 52 x 38
  EXPECT_TRUE(probe_image(bytes, "a", {.max_pixels = 52 * 38}).has_value());
  EXPECT_TRUE(is_error(probe_image(bytes, "a", {.max_pixels = 52 * 38 - 1}),
                       ErrorCode::kImageTooManyPixels));
  EXPECT_TRUE(is_error(decode_image(bytes, "a", with_limits({.max_pixels = 52 * 38 - 1})),
                       ErrorCode::kImageTooManyPixels));
  const ImageLimits side{.max_pixels = 1 << 20, .max_bytes = Bytes(1 << 20), .max_side = 51};
  EXPECT_TRUE(
      is_error(decode_image(bytes, "a", with_limits(side)), ErrorCode::kImageTooManyPixels));
  const auto size = static_cast<std::int64_t>(bytes.size());
  EXPECT_TRUE(
      decode_image(bytes, "a", with_limits({.max_pixels = 1 << 20, .max_bytes = Bytes(size)}))
          .has_value());
  EXPECT_TRUE(is_error(
      decode_image(bytes, "a", with_limits({.max_pixels = 1 << 20, .max_bytes = Bytes(size - 1)})),
      ErrorCode::kImageTooManyBytes));
}

TEST(Limits, ThinPicturesAreFine) {
  for (const ImageSize size :
       {ImageSize{1, 4000}, ImageSize{4000, 1}, ImageSize{1, 1}, ImageSize{3, 1}}) {
    const Image image = test_image(size.width, size.height);
    const auto got = decode_image(*encode_png(image), "thin.png", {});
    ASSERT_TRUE(got.has_value()) << got.error().describe();
    EXPECT_TRUE(same_image(*got, image));
  }
}

class ReadFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "foveal-image-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    dir_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }
  std::filesystem::path dir_;
};

TEST_F(ReadFile, GivesTheBytes) {
  const auto path = decode_dir() / "rgb.png";
  const auto got = read_image_file(path, {});
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(*got, read_bytes(path));
}

TEST_F(ReadFile, EmptyFileReadsAsNothing) {
  std::ofstream(dir_ / "empty.png").close();
  const auto got = read_image_file(dir_ / "empty.png", {});
  ASSERT_TRUE(got.has_value());
  EXPECT_TRUE(got->empty());
}

TEST_F(ReadFile, SaysWhyItCannot) {
  const auto missing = read_image_file(dir_ / "none.png", {});
  ASSERT_TRUE(is_error(missing, ErrorCode::kImageUnreadable));
  EXPECT_EQ(missing.error().field("reason")->text(), "No such file or directory");
  EXPECT_TRUE(is_error(read_image_file(dir_, {}), ErrorCode::kImageUnreadable));
  ASSERT_EQ(::mkfifo((dir_ / "pipe").c_str(), 0600), 0);
  EXPECT_TRUE(is_error(read_image_file(dir_ / "pipe", {}), ErrorCode::kImageUnreadable));
}

TEST_F(ReadFile, ChecksTheSizeBeforeReading) {
  std::ofstream(dir_ / "huge.png").close();
  std::filesystem::resize_file(dir_ / "huge.png", std::uintmax_t{1} << 40);  // sparse
  EXPECT_TRUE(is_error(read_image_file(dir_ / "huge.png", {}), ErrorCode::kImageTooManyBytes));
}

#if !defined(FOVEAL_TEST_SANITIZED)
// For a child: it may not have another 64 MiB of address space. Exits 0 where that is the answer.
template <class F>
[[noreturn]] void call_without_memory(F&& call) {
  std::ifstream statm("/proc/self/statm");
  rlim_t pages = 0;
  statm >> pages;
  rlimit cap{};
  cap.rlim_cur = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + (rlim_t{64} << 20);
  cap.rlim_max = cap.rlim_cur;
  ::setrlimit(RLIMIT_AS, &cap);
  const auto answer = is_error(call(), ErrorCode::kOutOfMemory);
  std::fputs(answer.message(), stderr);
  std::exit(answer ? 0 : 1);
}

template <class F>
void expect_out_of_memory(F&& call) {
  EXPECT_EXIT(call_without_memory(call), ::testing::ExitedWithCode(0), "");
}

TEST_F(ReadFile, WithoutMemoryIsAnError) {
  std::ofstream(dir_ / "big.png").close();
  std::filesystem::resize_file(dir_ / "big.png", 400 << 20);  // sparse
  expect_out_of_memory([&] { return read_image_file(dir_ / "big.png", {}); });
}

TEST(Limits, WithoutMemoryIsAnError) {
  const Image gray{.width = 6000, .height = 6000, .rgb = FileBytes(108'000'000, 7)};
  const FileBytes png = *encode_png(gray);
  expect_out_of_memory([&] { return decode_image(png, "big.png", {}); });
  const Image small = test_image(4, 4);
  expect_out_of_memory([&] {
    return resize_image(small, {.size = {12000, 12000},
                                .filter = ResizeFilter::kBicubic,
                                .backend = ImageBackend::kTorchvision});
  });
}
#endif

}  // namespace
}  // namespace foveal
