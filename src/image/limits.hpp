// Errors that several files of this folder raise.
#pragma once

#include <foveal/error.hpp>
#include <foveal/image.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace foveal {

// ImageTooManyBytes where a file of this size is over the limit.
Status check_file_size(std::int64_t bytes, std::string_view name, const ImageLimits& limits);

// Extents within [1, limit] and a buffer that they fill: an Image may come from anywhere.
Status check_image(const Image& image);

inline Error out_of_memory(std::int64_t bytes, std::string_view what) {
  return Error(ErrorCode::kOutOfMemory, {{"bytes", bytes}, {"what", what}});
}

}  // namespace foveal
