// Orientation, geometry, normalising and patches.
#include "image/geometry.hpp"
#include "image/normalize.hpp"
#include "image/orientation.hpp"
#include "image/patchify.hpp"
#include "image/support.hpp"

namespace foveal {
namespace {

constexpr MeanStd kClip{.mean = {0.48145466, 0.4578275, 0.40821073},
                        .std = {0.26862954, 0.26130258, 0.27577711}};

// ---- Orientation
// -------------------------------------------------------------------------------------------

// Where EXIF puts the first stored row and column: the definition, pixel by pixel.
const std::uint8_t* stored_pixel(const Image& stored, int orientation, int x, int y) {
  const int right = stored.width - 1;
  const int bottom = stored.height - 1;
  const std::array<std::pair<int, int>, 8> at{{{x, y},
                                               {right - x, y},
                                               {right - x, bottom - y},
                                               {x, bottom - y},
                                               {y, x},
                                               {y, bottom - x},
                                               {right - y, bottom - x},
                                               {right - y, x}}};
  const auto [sx, sy] = at[static_cast<std::size_t>(orientation - 1)];
  return &stored.rgb[static_cast<std::size_t>(sy * stored.width + sx) * 3];
}

TEST(Orientation, TurnsEveryPixelToItsPlace) {
  for (const ImageSize size :
       {ImageSize{1, 1}, ImageSize{70, 45}, ImageSize{33, 1}, ImageSize{1, 64}}) {
    const Image stored = test_image(size.width, size.height);
    for (int orientation = 1; orientation <= 8; ++orientation) {
      const Image got = apply_orientation(stored, orientation);
      ASSERT_EQ(got.width, orientation >= 5 ? size.height : size.width);
      ASSERT_EQ(got.height, orientation >= 5 ? size.width : size.height);
      for (int y = 0; y < got.height; ++y) {
        for (int x = 0; x < got.width; ++x) {
          const std::uint8_t* want = stored_pixel(stored, orientation, x, y);
          const std::uint8_t* have = &got.rgb[static_cast<std::size_t>(y * got.width + x) * 3];
          ASSERT_TRUE(std::equal(have, have + 3, want)) << orientation << " at " << x << " " << y;
        }
      }
    }
  }
}

TEST(Orientation, OfDamagedExifIsAbsent) {
  const FileBytes whole{'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0};
  EXPECT_EQ(exif_orientation(whole), 6);
  for (std::size_t size = 0; size < 20; ++size) {
    EXPECT_EQ(exif_orientation(std::span(whole).first(size)), std::nullopt) << size;
  }
  FileBytes far = whole;
  std::fill_n(far.begin() + 4, 4, 0xFF);  // the directory lies far outside
  EXPECT_EQ(exif_orientation(far), std::nullopt);
}

TEST(Orientation, XmpCountsOnlyWhereExifHasNone) {
  const std::string_view text =
      "<a tiff:Orientation = \"2\"/><tiff:Orientation>8</tiff:Orientation>";
  const FileBytes xmp(text.begin(), text.end());
  const FileBytes exif{'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0};
  EXPECT_EQ(find_orientation({}, xmp), 8);
  EXPECT_EQ(find_orientation(exif, xmp), 6);
  EXPECT_EQ(find_orientation({}, {}), 1);
}

// ---- Geometry
// ----------------------------------------------------------------------------------------------

TEST(Geometry, ShortestEdgeTruncatesTheLongSide) {
  EXPECT_EQ(shortest_edge_size({480, 640}, 224), (ImageSize{224, 298}));  // 298.67
  EXPECT_EQ(shortest_edge_size({640, 480}, 224), (ImageSize{298, 224}));
  EXPECT_EQ(shortest_edge_size({5, 5}, 7), (ImageSize{7, 7}));
  EXPECT_EQ(shortest_edge_size({1, 1'000'000}, 1 << 14).width, INT32_MAX);
}

TEST(Geometry, ShortestEdgeKeepsTheLongSideBelowItsLimit) {
  EXPECT_EQ(shortest_edge_size({100, 400}, 50, 200), (ImageSize{50, 200}));
  EXPECT_EQ(shortest_edge_size({100, 401}, 50, 199), (ImageSize{49, 199}));  // 199 * 50 / 200
}

TEST(Geometry, CentreRoundsAsItsBackend) {
  const auto offsets = [](int size, int crop) {
    return std::pair(center_window({size, 9}, {crop, 9}, ImageBackend::kTorchvision).top,
                     center_window({size, 9}, {crop, 9}, ImageBackend::kPillow).top);
  };
  EXPECT_EQ(offsets(10, 4), std::pair(3, 3));
  EXPECT_EQ(offsets(11, 4), std::pair(3, 3));
  EXPECT_EQ(offsets(4, 4), std::pair(0, 0));
  EXPECT_EQ(offsets(4, 10), std::pair(-3, -3));
  EXPECT_EQ(offsets(5, 8), std::pair(-1, -2));  // padding of 3: 1 above in torchvision, 2 in NumPy
}

TEST(Geometry, CropPadsWithBlack) {
  const Image image = test_image(3, 2);
  const Image got = crop_image(image, {.top = -1, .left = 1, .height = 4, .width = 4});
  ASSERT_EQ(got.rgb.size(), 48U);
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 4; ++x) {
      const bool inside = y >= 1 && y <= 2 && x <= 1;
      for (int c = 0; c < 3; ++c) {
        const int want =
            inside ? image.rgb[static_cast<std::size_t>(((y - 1) * 3 + x + 1) * 3 + c)] : 0;
        EXPECT_EQ(got.rgb[static_cast<std::size_t>((y * 4 + x) * 3 + c)], want) << x << " " << y;
      }
    }
  }
}

// ---- Normalising
// -------------------------------------------------------------------------------------------

TEST(Normalize, GivesTheFloatsOfBothBackends) {
  for (const char* file : {"photo.safetensors", "noise.safetensors", "checker.safetensors"}) {
    const auto tensors = read_tensors(resize_dir() / file);
    const Image in = tensors.at("in").image();
    for (const auto& [name, backend] :
         {std::pair{"normalize.torchvision", ImageBackend::kTorchvision},
          std::pair{"normalize.pillow", ImageBackend::kPillow}}) {
      const NormalizationTable table =
          make_normalization_table({.rescale_factor = 1.0 / 255, .mean_std = kClip}, backend);
      const std::vector<float> want = tensors.at(name).floats();
      ASSERT_EQ(want.size(), in.rgb.size());
      std::size_t different = 0;
      for (std::size_t i = 0; i < want.size(); ++i) {
        different += table[i % 3][in.rgb[i]] != want[i] ? 1 : 0;
      }
      EXPECT_EQ(different, 0U) << file << " " << name;
    }
  }
}

TEST(Normalize, AbsentPartsDoNotApply) {
  for (const ImageBackend backend : {ImageBackend::kTorchvision, ImageBackend::kPillow}) {
    const auto plain = make_normalization_table({.rescale_factor = {}, .mean_std = {}}, backend);
    const auto scaled = make_normalization_table({.rescale_factor = 0.5, .mean_std = {}}, backend);
    const auto shifted = make_normalization_table(
        {.rescale_factor = {}, .mean_std = MeanStd{.mean = {1, 2, 3}, .std = {2, 4, 8}}}, backend);
    EXPECT_EQ(plain[1][200], 200.0F);
    EXPECT_EQ(scaled[2][201], 100.5F);
    EXPECT_EQ(shifted[0][255], 127.0F);
    EXPECT_EQ(shifted[2][255], 31.5F);
  }
  // Rescaling alone: float32 times float32 in torchvision, a double product rounded once with
  // Pillow.
  const auto torch = make_normalization_table({.rescale_factor = 1.0 / 255, .mean_std = {}},
                                              ImageBackend::kTorchvision);
  const auto pillow = make_normalization_table({.rescale_factor = 1.0 / 255, .mean_std = {}},
                                               ImageBackend::kPillow);
  for (int v = 0; v < 256; ++v) {
    EXPECT_EQ(torch[0][static_cast<std::size_t>(v)], static_cast<float>(v) * (1.0F / 255));
    EXPECT_EQ(pillow[0][static_cast<std::size_t>(v)], static_cast<float>(v * (1.0 / 255)));
  }
  EXPECT_NE(torch, pillow);
}

// ---- Patches
// -----------------------------------------------------------------------------------------------

// Another table a channel, so that a swapped channel shows.
NormalizationTable test_table() {
  return make_normalization_table(
      {.rescale_factor = {}, .mean_std = MeanStd{.mean = {0, 1000, 2000}, .std = {1, 1, 1}}},
      ImageBackend::kTorchvision);
}

float value_at(const Image& image, const NormalizationTable& table, int y, int x, int c) {
  return table[static_cast<std::size_t>(c)]
              [image.rgb[static_cast<std::size_t>((y * image.width + x) * 3 + c)]];
}

TEST(Patchify, PlanesAreChannelsFirst) {
  const Image image = test_image(5, 4);
  const NormalizationTable table = test_table();
  std::vector<float> out(60, NAN);
  ASSERT_TRUE(write_planes(image, table, out).has_value());
  for (int i = 0; i < 60; ++i) {
    EXPECT_EQ(out[static_cast<std::size_t>(i)], value_at(image, table, i / 5 % 4, i % 5, i / 20))
        << i;
  }
}

// The definition: which pixel lies at (row, column) of the patches.
void expect_patches(ImageSize size, const PatchLayout& layout) {
  const Image image = test_image(size.width, size.height);
  const NormalizationTable table = test_table();
  const PatchGrid grid = patch_grid(size, layout);
  std::vector<float> out(static_cast<std::size_t>(grid.floats()), NAN);
  ASSERT_TRUE(write_patches(image, table, layout, out).has_value());
  const int p = layout.patch_size;
  const int m = layout.merge_size;
  std::size_t at = 0;
  for (int row = 0; row < grid.rows(); ++row) {
    // (block row, block column, row in block, column in block)
    const int in_block = row % (m * m);
    const int block = row / (m * m);
    const int patch_y = block / (grid.width / m) * m + in_block / m;
    const int patch_x = block % (grid.width / m) * m + in_block % m;
    for (int i = 0; i < grid.row_size; ++i, ++at) {
      const bool last = layout.channels == PatchChannels::kLast;
      const int c = last ? i % 3 : i / (p * p * layout.temporal_patch_size);
      const int y = last ? i / (3 * p) % p : i / p % p;
      const int x = last ? i / 3 % p : i % p;
      ASSERT_EQ(out[at], value_at(image, table, patch_y * p + y, patch_x * p + x, c))
          << "row " << row << " at " << i;
    }
  }
}

TEST(Patchify, RasterRowsAreChannelRowColumn) {
  expect_patches({12, 20}, {.patch_size = 4,
                            .temporal_patch_size = 1,
                            .merge_size = 1,
                            .channels = PatchChannels::kFirst});
}

TEST(Patchify, QwenRowsRepeatTheFrameAndComeInMergeBlocks) {
  expect_patches({24, 16}, {.patch_size = 4,
                            .temporal_patch_size = 2,
                            .merge_size = 2,
                            .channels = PatchChannels::kFirst});
  expect_patches({18, 36}, {.patch_size = 3,
                            .temporal_patch_size = 3,
                            .merge_size = 3,
                            .channels = PatchChannels::kFirst});
}

TEST(Patchify, ChannelsMayComeLast) {
  expect_patches({8, 12}, {.patch_size = 4,
                           .temporal_patch_size = 1,
                           .merge_size = 1,
                           .channels = PatchChannels::kLast});
  expect_patches({8, 16}, {.patch_size = 4,
                           .temporal_patch_size = 2,
                           .merge_size = 2,
                           .channels = PatchChannels::kLast});
}

TEST(Patchify, DropsTheRemainder) {
  const PatchLayout layout{.patch_size = 14,
                           .temporal_patch_size = 1,
                           .merge_size = 1,
                           .channels = PatchChannels::kFirst};
  const PatchGrid grid = patch_grid({384, 390}, layout);
  EXPECT_EQ(grid.height, 27);
  EXPECT_EQ(grid.width, 27);
  EXPECT_EQ(grid.floats(), 27 * 27 * 3 * 14 * 14);
  expect_patches({33, 45}, layout);
}

}  // namespace
}  // namespace foveal
