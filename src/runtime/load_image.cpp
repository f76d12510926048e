#include "runtime/load_image.hpp"

#include <utility>

namespace foveal {
namespace {

Status check_pixels(const Image& image, const std::string& name, const ImageLimits& limits) {
  const std::int64_t pixels = std::int64_t{image.width} * image.height;
  if (image.width < 1 || image.height < 1 || image.width > limits.max_side ||
      image.height > limits.max_side) {
    return Error(ErrorCode::kImageSizeInvalid, {{"what", name},
                                                {"width", image.width},
                                                {"height", image.height},
                                                {"limit", limits.max_side}});
  }
  if (pixels > limits.max_pixels) {
    return Error(ErrorCode::kImageTooManyPixels, {{"file", name},
                                                  {"width", image.width},
                                                  {"height", image.height},
                                                  {"limit", limits.max_pixels}});
  }
  if (image.rgb.size() != static_cast<std::size_t>(3 * pixels)) {
    return Error(ErrorCode::kImageBufferSize, {{"width", image.width},
                                               {"height", image.height},
                                               {"got", image.rgb.size()},
                                               {"expected", 3 * pixels}});
  }
  return {};
}

}  // namespace

Result<LoadedHeader> load_image(ImageInput&& input, const ImageLimits& limits) {
  LoadedHeader out;
  out.image.name = std::move(input.name);
  const std::string& name = out.image.name;
  if (auto* pixels = std::get_if<Image>(&input.content)) {
    FOVEAL_TRY_STATUS(check_pixels(*pixels, name, limits));
    out.size = pixels->size();
    out.image.decoded = Bytes(static_cast<std::int64_t>(pixels->rgb.size()));
    out.image.content = std::move(*pixels);
    return out;
  }
  std::vector<std::uint8_t> bytes;
  if (auto* given = std::get_if<ImageInput::Bytes>(&input.content)) {
    bytes = std::move(given->data);
  } else {
    FOVEAL_TRY(bytes, read_image_file(name, limits));
  }
  FOVEAL_TRY(const ImageInfo info, probe_image(bytes, name, limits));
  out.size = {.height = info.oriented_height(), .width = info.oriented_width()};
  out.image.decoded = Bytes(std::int64_t{3} * info.width * info.height);
  out.image.content = std::move(bytes);
  return out;
}

Result<Image> decode_loaded(LoadedImage&& loaded, const DecodeOptions& options) {
  if (auto* pixels = std::get_if<Image>(&loaded.content)) {
    return std::move(*pixels);
  }
  return decode_image(std::get<std::vector<std::uint8_t>>(loaded.content), loaded.name, options);
}

}  // namespace foveal
