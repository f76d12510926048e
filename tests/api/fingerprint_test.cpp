// What changes the content of a fingerprint, and what only its notes.
#include "api/fingerprint.hpp"

#include "base/sha256.hpp"

#include <gtest/gtest.h>

#include <set>

namespace foveal {
namespace {

struct Settings {
  std::string model = R"({"family": "dinov2"})";
  EncoderOptions encoder;
  EmbedOptions embed;
  std::string dtype = "f32";

  std::string json() const {
    return fingerprint_json({.model_content = model,
                             .encoder = encoder,
                             .embed = embed,
                             .dtype = dtype,
                             .backend = "cpu",
                             .isa = "avx512",
                             .version = "0.1.0"});
  }
  std::string content() const {
    const std::string text = json();
    const std::string_view begin = "\"content\": ";
    const std::size_t from = text.find(begin) + begin.size();
    return text.substr(from, text.find(", \"content_hash\"") - from);
  }
  std::string hash() const {
    const std::string text = json();
    const std::string_view begin = "\"content_hash\": \"";
    return text.substr(text.find(begin) + begin.size(), 16);
  }
};

TEST(Fingerprint, IsThisText) {
  Settings s;
  s.encoder.decode.background = {{255, 0, 171}};
  s.embed.layer = 11;
  s.embed.normalize = Normalize::kYes;
  EXPECT_EQ(
      s.content(),
      R"({"model": {"family": "dinov2"}, "resize": "torchvision", "background": "FF00AB", "fast_jpeg": false, )"
      R"("positions": "as trained", "output": "pooled", "layer": 11, "normalize": true})");
  EXPECT_EQ(s.hash(), sha256_hex(s.content()).substr(0, 16));
  EXPECT_NE(
      s.json().find(
          R"("notes": {"dtype": "f32", "backend": "cpu", "isa": "avx512", "version": "0.1.0"}})"),
      std::string::npos);
}

TEST(Fingerprint, EachSettingThatChangesVectorsChangesTheHash) {
  std::set<std::string> hashes{Settings().hash()};
  const auto with = [&hashes](auto&& change) {
    Settings s;
    change(s);
    EXPECT_TRUE(hashes.insert(s.hash()).second) << s.content();
  };
  with([](Settings& s) { s.model = R"({"family": "clip"})"; });
  with([](Settings& s) { s.encoder.resize = ImageBackend::kPillow; });
  with([](Settings& s) { s.encoder.decode.background = {{255, 255, 255}}; });
  with([](Settings& s) { s.encoder.decode.background = {{0, 0, 0}}; });
  with([](Settings& s) { s.encoder.fast_jpeg = FastJpeg::kYes; });
  with([](Settings& s) { s.encoder.positions = PositionMode::kInterpolate; });
  with([](Settings& s) { s.embed.layer = 0; });
  with([](Settings& s) { s.embed.layer = 11; });
  with([](Settings& s) { s.embed.normalize = Normalize::kYes; });
  with([](Settings& s) { s.embed.outputs = {"last_hidden_state"}; });
}

TEST(Fingerprint, WhatOnlyChangesTheWayThereLeavesTheHash) {
  const std::string hash = Settings().hash();
  Settings s;
  s.dtype = "bf16";
  s.embed.batch_tokens = 17;
  s.embed.decode_threads = 3;
  s.embed.outputs = {"last_hidden_state", "pooled"};
  s.encoder.decode.limits.max_pixels = 5;
  EXPECT_EQ(s.hash(), hash);
  EXPECT_NE(s.json(), Settings().json());
  s.embed.outputs = {"all"};
  EXPECT_EQ(s.hash(), hash);
}

TEST(Fingerprint, TextFromOutsideStaysJson) {
  Settings s;
  s.embed.outputs = {"a\"b\\c\nd"};
  EXPECT_NE(s.content().find(R"("a\"b\\c\u000ad")"), std::string::npos) << s.content();
}

}  // namespace
}  // namespace foveal
