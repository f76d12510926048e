// Checks shared by the files of this folder.
#include "image/limits.hpp"

namespace foveal {

Status check_file_size(std::int64_t bytes, std::string_view name, const ImageLimits& limits) {
  if (bytes > limits.max_bytes.v) {
    return Error(ErrorCode::kImageTooManyBytes,
                 {{"file", name}, {"bytes", bytes}, {"limit", limits.max_bytes.v}});
  }
  return {};
}

Status check_image(const Image& image) {
  const int limit = ImageLimits{}.max_side;
  if (image.width < 1 || image.height < 1 || image.width > limit || image.height > limit) {
    return Error(ErrorCode::kImageSizeInvalid, {{"what", "a picture"},
                                                {"width", image.width},
                                                {"height", image.height},
                                                {"limit", limit}});
  }
  const std::int64_t expected = std::int64_t{image.width} * image.height * 3;
  if (static_cast<std::int64_t>(image.rgb.size()) != expected) {
    return Error(ErrorCode::kImageBufferSize, {{"width", image.width},
                                               {"height", image.height},
                                               {"got", image.rgb.size()},
                                               {"expected", expected}});
  }
  return {};
}

}  // namespace foveal
