// Fuzz target of the picture decoders: any bytes must give a picture that fits its header, or an
// error. libFuzzer's entry point; tests/image/fuzz_corpus_test.cpp replays the corpus through it as
// a unit test.
#include <foveal/image.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

// Small, so that a run tries many files instead of filling large buffers.
constexpr foveal::ImageLimits kLimits{
    .max_pixels = 1 << 18, .max_bytes = foveal::Bytes(1 << 20), .max_side = 1 << 13};

// What must hold whatever the input is: abort tells the fuzzer.
void expect(bool condition) {
  if (!condition) {
    std::abort();
  }
}

void decode_and_check(std::span<const std::uint8_t> bytes, const foveal::DecodeOptions& options) {
  const auto info = foveal::probe_image(bytes, "fuzz", options.limits);
  const auto image = foveal::decode_image(bytes, "fuzz", options);
  if (!image.has_value()) {
    expect(image.error().message().find('{') ==
           std::string::npos);  // each field of the entry is given
    return;
  }
  expect(info.has_value());
  expect(image->rgb.size() ==
         static_cast<std::size_t>(image->width) * static_cast<std::size_t>(image->height) * 3);
  if (!options.fast_jpeg_target) {
    expect(image->width == info->oriented_width() && image->height == info->oriented_height());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::span<const std::uint8_t> bytes(data, size);
  foveal::DecodeOptions options{.limits = kLimits};
  decode_and_check(bytes, options);
  options.background = {1, 2, 3};
  options.fast_jpeg_target = foveal::ImageSize{.height = 8, .width = 8};
  decode_and_check(bytes, options);
  return 0;
}
