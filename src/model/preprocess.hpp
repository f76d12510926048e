// What preprocessor_config.json says, typed: how a picture's size becomes the tower's, and how its
// bytes become numbers. Sizes follow transformers' image processors (5.x), old key forms included.
#pragma once

#include "image/normalize.hpp"
#include "image/patchify.hpp"
#include "model/config.hpp"

#include <foveal/error.hpp>
#include <foveal/image.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace foveal {

enum class SizeRule : std::uint8_t {
  kKeep,          // do_resize: false
  kExact,         // to (height, width), whatever the ratio
  kShortestEdge,  // short side to `shortest_edge`, long side truncated
  kSmart,  // Qwen: both sides to multiples of patch * merge, area within [min_pixels, max_pixels]
};

struct PreprocessSpec {
  SizeRule rule = SizeRule::kExact;
  ImageSize exact;
  int shortest_edge = 0;
  std::optional<int> longest_edge;  // kShortestEdge: bound on the long side
  std::int64_t min_pixels = 0;      // kSmart
  std::int64_t max_pixels = 0;      // kSmart
  ResizeFilter filter = ResizeFilter::kBicubic;
  std::optional<ImageSize>
      crop;  // centre crop after the resize, padded with black where it is larger
  Normalization normalization;
};

// How a picture gets to the tower's input size.
struct SizePlan {
  ImageSize resized;
  std::optional<ImageWindow> window;  // of the resized picture
  ImageSize final_size;
};

struct PatchGeometry {
  int patch_size = 0;
  int temporal_patch_size = 1;
  int merge_size = 1;
};

// The processor's class, for the defaults of fields that a file leaves out.
enum class ProcessorClass : std::uint8_t { kVit, kClip, kSiglip, kBit, kQwen2Vl };

// config: preprocessor_config.json. fallback: the class where the file names none. geometry is
// checked against the file where it states patch and merge sizes too. ConfigField,
// PreprocessorUnsupported.
Result<PreprocessSpec> read_preprocess(const Config& config, ProcessorClass fallback,
                                       std::string_view family, const PatchGeometry& geometry);

// ImageAspectRatio.
Result<SizePlan> plan_size(const PreprocessSpec& spec, const PatchGeometry& geometry,
                           ImageSize size, ImageBackend backend, std::string_view name,
                           std::string_view family);

// A JSON object that holds every field that decides a byte.
std::string to_json(const PreprocessSpec& spec);

}  // namespace foveal
