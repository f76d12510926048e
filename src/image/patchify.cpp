// Cuts pictures into rows of patches, see patchify.hpp.
#include "image/patchify.hpp"

#include "base/check.hpp"

#include <cstring>

namespace foveal {
namespace {

// One patch of one frame. in: its upper left pixel; in_stride: bytes.
// channels first: plane_step floats lie between the planes of two channels.
void write_patch_first(const std::uint8_t* in, std::size_t in_stride,
                       const NormalizationTable& table, std::size_t patch, std::size_t plane_step,
                       float* out) {
  for (std::size_t c = 0; c < 3; ++c) {
    const float* values = table[c].data();
    float* to = out + c * plane_step;
    for (std::size_t y = 0; y < patch; ++y) {
      const std::uint8_t* from = in + y * in_stride + c;
      for (std::size_t x = 0; x < patch; ++x) {
        *to++ = values[from[x * 3]];
      }
    }
  }
}

void write_patch_last(const std::uint8_t* in, std::size_t in_stride,
                      const NormalizationTable& table, std::size_t patch, float* out) {
  for (std::size_t y = 0; y < patch; ++y) {
    const std::uint8_t* from = in + y * in_stride;
    for (std::size_t x = 0; x < patch; ++x, from += 3, out += 3) {
      out[0] = table[0][from[0]];
      out[1] = table[1][from[1]];
      out[2] = table[2][from[2]];
    }
  }
}

// The frame again, temporal_patch_size - 1 times: blocks of `floats` behind one another.
void repeat_frame(float* first, std::size_t floats, int times) {
  for (int t = 1; t < times; ++t) {
    std::memcpy(first + static_cast<std::size_t>(t) * floats, first, floats * sizeof(float));
  }
}

bool is_whole(const Image& image) {
  return image.width >= 1 && image.height >= 1 &&
         static_cast<std::int64_t>(image.rgb.size()) ==
             std::int64_t{image.width} * image.height * 3;
}

}  // namespace

PatchGrid patch_grid(ImageSize size, const PatchLayout& layout) {
  return {.height = size.height / layout.patch_size,
          .width = size.width / layout.patch_size,
          .row_size =
              std::int64_t{3} * layout.temporal_patch_size * layout.patch_size * layout.patch_size};
}

Status write_planes(const Image& image, const NormalizationTable& table, std::span<float> out) {
  FOVEAL_CHECK(is_whole(image));
  FOVEAL_CHECK(out.size() == image.rgb.size());
  const std::size_t pixels = out.size() / 3;
  for (std::size_t c = 0; c < 3; ++c) {
    const float* values = table[c].data();
    const std::uint8_t* from = image.rgb.data() + c;
    float* to = out.data() + c * pixels;
    for (std::size_t i = 0; i < pixels; ++i) {
      to[i] = values[from[i * 3]];
    }
  }
  return {};
}

Status write_patches(const Image& image, const NormalizationTable& table, const PatchLayout& layout,
                     std::span<float> out) {
  FOVEAL_CHECK(layout.patch_size >= 1 && layout.temporal_patch_size >= 1 && layout.merge_size >= 1);
  FOVEAL_CHECK(is_whole(image));
  const PatchGrid grid = patch_grid(image.size(), layout);
  FOVEAL_CHECK(static_cast<std::int64_t>(out.size()) == grid.floats());
  const int merge = layout.merge_size;
  FOVEAL_CHECK(grid.height % merge == 0 && grid.width % merge == 0);

  const auto patch = static_cast<std::size_t>(layout.patch_size);
  const std::size_t frame = patch * patch;  // floats of one channel
  const auto in_stride = static_cast<std::size_t>(image.width) * 3;
  const auto times = static_cast<std::size_t>(layout.temporal_patch_size);
  float* row = out.data();
  // Row of the grid, block by block; in a block its rows, in those its columns.
  for (int block_y = 0; block_y < grid.height; block_y += merge) {
    for (int block_x = 0; block_x < grid.width; block_x += merge) {
      for (int i = 0; i < merge * merge; ++i, row += grid.row_size) {
        const auto y = static_cast<std::size_t>(block_y + i / merge) * patch;
        const auto x = static_cast<std::size_t>(block_x + i % merge) * patch;
        const std::uint8_t* in = image.rgb.data() + y * in_stride + x * 3;
        if (layout.channels == PatchChannels::kLast) {
          write_patch_last(in, in_stride, table, patch, row);
          repeat_frame(row, frame * 3, layout.temporal_patch_size);
          continue;
        }
        write_patch_first(in, in_stride, table, patch, frame * times, row);
        for (std::size_t c = 0; c < 3; ++c) {
          repeat_frame(row + c * frame * times, frame, layout.temporal_patch_size);
        }
      }
    }
  }
  return {};
}

}  // namespace foveal
