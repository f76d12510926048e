// Two configs over the same weights are two models; a sparse file and a complete one are the same.
#include "model/folder_support.hpp"

#include <foveal/encoder.hpp>

#include <gtest/gtest.h>

#include <functional>

namespace foveal {
namespace {

std::string hash_of(const std::function<void(testing::ModelCopy&)>& change, const char* name) {
  testing::ModelCopy copy(name);
  change(copy);
  const Context context = Context::create({.threads = 1}).value();
  const Encoder encoder = Encoder::open(context, copy.save()).value();
  return nlohmann::json::parse(encoder.fingerprint({})).at("content_hash");
}

TEST(Fingerprint, TellsConfigsOverTheSameWeightsApart) {
  const auto same = [](testing::ModelCopy&) {};
  const std::string vit = hash_of(same, "vit_small");
  EXPECT_EQ(hash_of([](auto& m) { m.config["num_channels"] = 3; }, "vit_small"), vit);
  EXPECT_NE(hash_of([](auto& m) { m.config["hidden_act"] = "quick_gelu"; }, "vit_small"), vit);
  EXPECT_NE(hash_of([](auto& m) { m.config["layer_norm_eps"] = 1e-5; }, "vit_small"), vit);
  EXPECT_NE(hash_of([](auto& m) { m.config["num_attention_heads"] = 4; }, "vit_small"), vit);
  EXPECT_NE(hash_of([](auto& m) { m.preprocessor["resample"] = 3; }, "vit_small"), vit);
  const char* qwen = "qwen2_5_vl_bf16_sharded";
  const auto windows = [](auto& m) { m.config["vision_config"]["window_size"] = 56; };
  EXPECT_NE(hash_of(windows, qwen), hash_of(same, qwen));
}

}  // namespace
}  // namespace foveal
