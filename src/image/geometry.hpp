// Sizes and rectangles of transformers' image processors, in pixels: shortest edge, centre crop,
// cropping.
#pragma once

#include <foveal/image.hpp>

namespace foveal {

// The size whose short side is `edge`; the long side keeps the ratio, truncated. Absurd ratios are
// clamped to the largest int, which resize_image refuses.
ImageSize shortest_edge_size(ImageSize size, int edge);

// The same, but the long side is at most `longest` (transformers' max_size): then it is `longest`
// and the short side follows.
ImageSize shortest_edge_size(ImageSize size, int edge, int longest);

// The centre of a picture. Where the crop is larger than the picture the window sticks out of it,
// by half of the difference: torchvision rounds the left and upper half down, transformers' NumPy
// crop (Pillow) up.
ImageWindow center_window(ImageSize size, ImageSize crop, ImageBackend backend);

// The part of the window that lies inside of [0, size); extents of 0 where none does.
ImageWindow intersection(const ImageWindow& window, ImageSize size);

// Copies a window out; zeros where it sticks out. The window's extents are at least 0.
Image crop_image(const Image& image, const ImageWindow& window);

}  // namespace foveal
