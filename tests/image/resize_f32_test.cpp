// The float resize against the stored values of torchvision.
#include "image/resize_f32.hpp"

#include "image/support.hpp"

#include <cmath>

namespace foveal {
namespace {

constexpr std::string_view kPrefix = "torchvision_f32.bilinear.";

TEST(ResizeF32, IsWithinTheLastBitOfTorchvision) {
  const auto tensors = read_tensors(resize_dir() / "photo.safetensors");
  const Image image = tensors.at("in").image();
  std::vector<float> in;
  for (const std::uint8_t value : image.rgb) {
    in.push_back(static_cast<float>(value) * static_cast<float>(1.0 / 255.0));
  }
  int compared = 0;
  for (const auto& [name, tensor] : tensors) {
    if (!name.starts_with(kPrefix)) {
      continue;
    }
    const std::string size = name.substr(kPrefix.size());
    const ImageSize to{.height = std::stoi(size),
                       .width = std::stoi(size.substr(size.find('x') + 1))};
    const auto got = resize_f32(in, image.size(), to);
    ASSERT_TRUE(got.has_value()) << got.error().describe();
    std::vector<float> want(tensor.bytes.size() / sizeof(float));
    std::memcpy(want.data(), tensor.bytes.data(), tensor.bytes.size());
    ASSERT_EQ(got->size(), want.size());
    double worst = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      worst =
          std::max(worst, std::fabs(static_cast<double>((*got)[i]) - static_cast<double>(want[i])));
    }
    // What the exact arithmetic stays within: torchvision's vectorised sums differ in the last bit.
    EXPECT_LE(worst, 2.5e-7) << name;
    ++compared;
  }
  EXPECT_EQ(compared, 9);
}

TEST(ResizeF32, KeepsWhatIsNotResized) {
  const std::vector<float> in{0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F};
  EXPECT_EQ(resize_f32(in, {1, 2}, {1, 2}).value(), in);
}

}  // namespace
}  // namespace foveal
