// An input of any kind, up to its header: a path is read, bytes are probed, pixels are checked.
#pragma once

#include "runtime/decode_queue.hpp"

#include <foveal/encoder.hpp>
#include <foveal/error.hpp>
#include <foveal/image.hpp>

namespace foveal {

struct LoadedHeader {
  LoadedImage image;  // tokens and resized are the model's to fill in
  ImageSize size;     // after orientation
};

// What read_image_file and probe_image say; for pixels ImageSizeInvalid, ImageBufferSize,
// ImageTooManyPixels.
Result<LoadedHeader> load_image(ImageInput&& input, const ImageLimits& limits);

// The pixels: decoded, or as they were given. What decode_image says.
Result<Image> decode_loaded(LoadedImage&& loaded, const DecodeOptions& options);

}  // namespace foveal
