// Sizes as transformers' processors compute them, for inputs that others got wrong.
#include "model/preprocess.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace foveal {
namespace {

constexpr PatchGeometry kQwen{.patch_size = 14, .temporal_patch_size = 2, .merge_size = 2};

PreprocessSpec read(const char* text, ProcessorClass fallback, const PatchGeometry& geometry) {
  const Config config(std::make_shared<const nlohmann::json>(nlohmann::json::parse(text)),
                      "preprocessor_config.json");
  return read_preprocess(config, fallback, "test", geometry).value();
}

ImageSize final_size(const PreprocessSpec& spec, const PatchGeometry& geometry, ImageSize size) {
  return plan_size(spec, geometry, size, ImageBackend::kTorchvision, "a.png", "test")
      .value()
      .final_size;
}

TEST(SmartResize, RoundsHalvesToEvenAndKeepsTheArea) {
  const PreprocessSpec spec = read(R"({"size":{"shortest_edge":3136,"longest_edge":12845056}})",
                                   ProcessorClass::kQwen2Vl, kQwen);
  const auto size = [&](int h, int w) { return final_size(spec, kQwen, {h, w}); };
  EXPECT_EQ(size(70, 70), (ImageSize{56, 56}));  // 2.5 rounds to 2, not to 3
  EXPECT_EQ(size(26, 28), (ImageSize{56, 84}));  // vllm#15080, transformers#37264
  EXPECT_EQ(size(27, 332), (ImageSize{28, 336}));
  EXPECT_EQ(size(1, 200), (ImageSize{28, 812}));
  EXPECT_EQ(size(1080, 1920), (ImageSize{1092, 1932}));  // llama.cpp#16842: stretched, not padded
}

TEST(SmartResize, RefusesExtremeRatios) {
  const PreprocessSpec spec = read("{}", ProcessorClass::kQwen2Vl, kQwen);
  const auto r = plan_size(spec, kQwen, {1, 201}, ImageBackend::kTorchvision, "a.png", "test");
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code(), ErrorCode::kImageAspectRatio);
  EXPECT_EQ(r.error().field("file")->text(), "a.png");
  EXPECT_TRUE(plan_size(spec, kQwen, {1, 200}, ImageBackend::kTorchvision, "a.png", "test"));
}

TEST(SmartResize, OldAreaKeysWinOverSize) {
  // vllm#15364: forms of the keys changed between versions.
  const PreprocessSpec both = read(
      R"({"min_pixels":784,"max_pixels":1568,"size":{"shortest_edge":3136,"longest_edge":1003520}})",
      ProcessorClass::kQwen2Vl, kQwen);
  EXPECT_EQ(both.min_pixels, 784);
  EXPECT_EQ(both.max_pixels, 1568);
  const PreprocessSpec repeated =
      read(R"({"min_pixels":784,"max_pixels":1568,"size":{"min_pixels":1,"max_pixels":2}})",
           ProcessorClass::kQwen2Vl, kQwen);
  EXPECT_EQ(repeated.max_pixels, 1568);
  const PreprocessSpec none = read("{}", ProcessorClass::kQwen2Vl, kQwen);
  EXPECT_EQ(none.min_pixels, 3136);
  EXPECT_EQ(none.max_pixels, 1003520);
}

TEST(FixedSizes, AnIntegerMeansWhatTheProcessorsClassMeans) {
  constexpr PatchGeometry kPlain{.patch_size = 16};
  const PreprocessSpec vit = read(R"({"size":96})", ProcessorClass::kVit, kPlain);
  EXPECT_EQ(final_size(vit, kPlain, {100, 50}), (ImageSize{96, 96}));
  const PreprocessSpec clip =
      read(R"({"size":96,"crop_size":64,"feature_extractor_type":"CLIPFeatureExtractor"})",
           ProcessorClass::kVit, kPlain);
  const SizePlan plan =
      plan_size(clip, kPlain, {101, 50}, ImageBackend::kTorchvision, "a", "test").value();
  EXPECT_EQ(plan.resized, (ImageSize{193, 96}));  // 193.92 truncated
  EXPECT_EQ(plan.final_size, (ImageSize{64, 64}));
}

}  // namespace
}  // namespace foveal
