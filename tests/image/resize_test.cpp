// Resize against the stored bytes of torchvision and Pillow, for every set of kernels that this CPU
// runs.
#include "image/resize.hpp"

#include "image/geometry.hpp"
#include "image/support.hpp"

#include <cmath>
#include <tuple>

namespace foveal {
namespace {

struct Key {
  ImageBackend backend;
  ResizeFilter filter;
  ImageSize size;
};

// "torchvision.bicubic.28x30": height x width. nullopt: something else.
std::optional<Key> parse_key(const std::string& key) {
  const std::size_t dot1 = key.find('.');
  const std::size_t dot2 = key.find('.', dot1 + 1);
  const std::size_t x = key.find('x', dot2 + 1);
  if (dot1 == key.npos || dot2 == key.npos || x == key.npos) {
    return std::nullopt;
  }
  const std::map<std::string, ImageBackend> backends{{"torchvision", ImageBackend::kTorchvision},
                                                     {"pillow", ImageBackend::kPillow}};
  const std::map<std::string, ResizeFilter> filters{{"bilinear", ResizeFilter::kBilinear},
                                                    {"bicubic", ResizeFilter::kBicubic},
                                                    {"lanczos", ResizeFilter::kLanczos}};
  const auto backend = backends.find(key.substr(0, dot1));
  const auto filter = filters.find(key.substr(dot1 + 1, dot2 - dot1 - 1));
  if (backend == backends.end() || filter == filters.end()) {
    return std::nullopt;
  }
  return Key{backend->second,
             filter->second,
             {.height = std::stoi(key.substr(dot2 + 1, x - dot2 - 1)),
              .width = std::stoi(key.substr(x + 1))}};
}

TEST(Resize, GivesTheBytesOfBothBackends) {
  int compared = 0;
  for (const char* file : {"photo.safetensors", "noise.safetensors", "checker.safetensors"}) {
    const auto tensors = read_tensors(resize_dir() / file);
    const Image in = tensors.at("in").image();
    for (const auto& [name, tensor] : tensors) {
      const auto key = parse_key(name);
      if (!key) {
        continue;
      }
      for (const resize::KernelTable* kernels : resize::runnable_kernels()) {
        const auto got = resize::resize_image(
            *kernels, in, {.size = key->size, .filter = key->filter, .backend = key->backend});
        ASSERT_TRUE(got.has_value()) << got.error().describe();
        EXPECT_TRUE(same_image(*got, tensor.image()))
            << file << " " << name << " " << kernels->name;
        ++compared;
      }
    }
  }
  EXPECT_EQ(compared, 120 * static_cast<int>(resize::runnable_kernels().size()));
}

// The fixtures are small; these have many taps, odd rests and rows shorter than a vector.
TEST(Resize, AllKernelsAgree) {
  const std::vector<std::pair<ImageSize, ImageSize>> cases{
      {{1, 1}, {1, 1}},        {{1, 1}, {7, 5}},        {{2, 3}, {1, 1}},
      {{1, 4000}, {3, 40}},    {{4000, 1}, {40, 3}},    {{500, 700}, {31, 43}},
      {{90, 1200}, {40, 9}},   {{33, 10}, {66, 11}},    {{640, 480}, {640, 30}},
      {{640, 480}, {30, 480}}, {{257, 129}, {255, 131}}};
  for (const auto& [from, to] : cases) {
    const Image in = test_image(from.width, from.height);
    for (const ImageBackend backend : {ImageBackend::kTorchvision, ImageBackend::kPillow}) {
      for (const ResizeFilter filter :
           {ResizeFilter::kBilinear, ResizeFilter::kBicubic, ResizeFilter::kLanczos}) {
        const ResizeOptions options{.size = to, .filter = filter, .backend = backend};
        const auto want = resize::resize_image(resize::generic_kernels(), in, options);
        ASSERT_TRUE(want.has_value());
        for (const resize::KernelTable* kernels : resize::runnable_kernels()) {
          const auto got = resize::resize_image(*kernels, in, options);
          ASSERT_TRUE(got.has_value());
          EXPECT_TRUE(same_image(*got, *want))
              << kernels->name << " " << from.height << "x" << from.width << " to " << to.height
              << "x" << to.width;
        }
      }
    }
  }
}

TEST(Resize, KeepsBlackAndWhite) {
  for (const std::uint8_t level : {std::uint8_t{0}, std::uint8_t{255}}) {
    Image in = test_image(301, 203);
    std::fill(in.rgb.begin(), in.rgb.end(), level);
    for (const ImageBackend backend : {ImageBackend::kTorchvision, ImageBackend::kPillow}) {
      const auto got = resize_image(
          in, {.size = {47, 400}, .filter = ResizeFilter::kLanczos, .backend = backend});
      ASSERT_TRUE(got.has_value());
      EXPECT_EQ(std::count(got->rgb.begin(), got->rgb.end(), level), 47 * 400 * 3);
    }
  }
}

TEST(Resize, WindowEqualsCropOfTheWhole) {
  const Image in = test_image(97, 61);
  const std::vector<ImageWindow> windows{{0, 0, 40, 50},   {7, 11, 20, 20}, {-5, -6, 30, 30},
                                         {30, 40, 30, 30}, {-3, 5, 60, 10}, {100, 100, 4, 4},
                                         {39, 49, 1, 1},   {-9, -9, 99, 99}};
  // Both passes, each one alone, none, and Pillow's other order.
  for (const ImageSize size :
       {ImageSize{40, 50}, ImageSize{61, 50}, ImageSize{40, 97}, ImageSize{61, 97}}) {
    for (const ImageBackend backend : {ImageBackend::kTorchvision, ImageBackend::kPillow}) {
      ResizeOptions options{.size = size, .filter = ResizeFilter::kBicubic, .backend = backend};
      const auto whole = resize_image(in, options);
      ASSERT_TRUE(whole.has_value());
      for (const ImageWindow& window : windows) {
        options.window = window;
        const auto got = resize_image(in, options);
        ASSERT_TRUE(got.has_value());
        EXPECT_TRUE(same_image(*got, crop_image(*whole, window)))
            << "window " << window.top << " " << window.left << " " << window.height << " "
            << window.width;
      }
    }
  }
}

TEST(Resize, CentreOfAnExtremePictureNeedsNoRoomForTheWhole) {
  const Image in = test_image(1, 4000);
  const ImageSize size = shortest_edge_size(in.size(), 224);
  EXPECT_EQ(size, (ImageSize{.height = 896000, .width = 224}));
  const auto got =
      resize_image(in, {.size = size,
                        .filter = ResizeFilter::kBicubic,
                        .backend = ImageBackend::kTorchvision,
                        .window = center_window(size, {224, 224}, ImageBackend::kTorchvision)});
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->size(), (ImageSize{224, 224}));
  EXPECT_EQ(got->rgb[0], got->rgb[3]) << "one source column: all columns alike";
}

TEST(Resize, RefusesSizesAndBuffersThatCannotBe) {
  const Image in = test_image(4, 4);
  const auto resized = [&](const Image& image, ImageSize size,
                           std::optional<ImageWindow> window = {}) {
    return resize_image(image, {.size = size,
                                .filter = ResizeFilter::kBicubic,
                                .backend = ImageBackend::kTorchvision,
                                .window = window});
  };
  EXPECT_TRUE(is_error(resized(in, {0, 4}), ErrorCode::kImageSizeInvalid));
  EXPECT_TRUE(is_error(resized(in, {4, -1}), ErrorCode::kImageSizeInvalid));
  EXPECT_TRUE(is_error(resized(in, {4, resize::kMaxSide + 1}), ErrorCode::kImageSizeInvalid));
  EXPECT_TRUE(is_error(resized(in, {4, 4}, ImageWindow{0, 0, 0, 4}), ErrorCode::kImageSizeInvalid));
  EXPECT_TRUE(is_error(resized(Image{}, {4, 4}), ErrorCode::kImageSizeInvalid));
  EXPECT_TRUE(is_error(resized(in, {20000, 20000}), ErrorCode::kImageTooManyPixels));
  Image short_buffer = in;
  short_buffer.rgb.pop_back();
  EXPECT_TRUE(is_error(resized(short_buffer, {4, 4}), ErrorCode::kImageBufferSize));
}

}  // namespace
}  // namespace foveal
