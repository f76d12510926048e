// Every output of every fixture of the families served, f32 and bf16, on every instruction set of
// this machine.
#include "model/support.hpp"

#include <foveal/encoder.hpp>

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace foveal {
namespace {

using testing::fixture;

struct Case {
  std::string name;
  ComputeDType dtype;
  std::string isa;
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name << " " << c.isa;
}

constexpr std::array kNames{"vit_small",
                            "vit_pooler",
                            "clip_proj",
                            "clip_interpolate",
                            "clip_full_3images",
                            "siglip_vision",
                            "siglip_full_bf16_sharded",
                            "dinov2_interpolate",
                            "dinov2_registers_swiglu",
                            "qwen2_5_vl_windows",
                            "qwen2_5_vl_bf16_sharded",
                            "qwen3_vl_small",
                            "qwen3_vl_deepstack"};

std::vector<Case> cases() {
  std::vector<Case> out;
  for (const char* name : kNames) {
    for (const ComputeDType dtype : {ComputeDType::kF32, ComputeDType::kBF16}) {
      for (const char* isa : {"generic", "avx2", "avx512", "amx"}) {
        out.push_back({name, dtype, isa});
      }
    }
  }
  return out;
}

class Golden : public ::testing::TestWithParam<Case> {};

// Values of one output over all pictures, in order.
struct Rows {
  std::vector<float> values;
  std::vector<std::int64_t> integers;
};

using Outputs = std::map<std::string, Rows>;

Outputs collect(std::vector<ImageResult> results) {
  Outputs out;
  for (ImageResult& r : results) {
    EXPECT_FALSE(r.error.has_value()) << r.error->describe();
    for (OutputRows& o : r.outputs) {
      Rows& rows = out[o.name];
      rows.values.insert(rows.values.end(), o.values.begin(), o.values.end());
      rows.integers.insert(rows.integers.end(), o.integers.begin(), o.integers.end());
    }
  }
  return out;
}

struct Setting {
  EncoderOptions options;
  std::vector<std::string> outputs;
};

Outputs run(const Context& context, const testing::fs::path& folder, const nlohmann::json& info,
            const Setting& s) {
  EncoderOptions options = s.options;
  if (info.value("call", nlohmann::json::object()).value("interpolate_pos_encoding", false)) {
    options.positions = PositionMode::kInterpolate;
  }
  const Encoder encoder = Encoder::open(context, (folder / "MODEL").string(), options).value();
  std::vector<ImageInput> images;
  for (const auto& image : info.at("images")) {
    images.push_back(
        {.name = (folder / image.at("file").get<std::string>()).string(), .content = {}});
  }
  return collect(
      encoder.embed(std::move(images), {.outputs = s.outputs, .layer = std::nullopt}).value());
}

void judge(const std::string& key, const std::string& got_key, const nlohmann::json& info,
           const Outputs& got, const SafetensorsFile& expected, const std::string& dtype) {
  SCOPED_TRACE(key);
  const SafetensorsEntry* entry = expected.find(key);
  ASSERT_NE(entry, nullptr);
  ASSERT_TRUE(got.contains(got_key)) << "no output " << got_key;
  const Rows& rows = got.at(got_key);
  if (entry->dtype == DType::kI64) {
    const auto view = expected.view(*entry);
    std::vector<std::int64_t> want(static_cast<std::size_t>(view.numel()));
    std::memcpy(want.data(), view.data, want.size() * sizeof(std::int64_t));
    EXPECT_EQ(rows.integers, want);
    return;
  }
  const std::vector<float> want = testing::load_f32(expected, key);
  ASSERT_EQ(rows.values.size(), want.size());
  const nlohmann::json& tolerance = info.at("tolerance").at(got_key).at(dtype);
  const testing::Difference d = testing::difference(rows.values, want);
  EXPECT_TRUE(d.finite);
  EXPECT_LE(d.max_abs, tolerance.at("atol").get<double>())
      << "at " << d.worst << ": " << rows.values[d.worst] << ", expected " << want[d.worst];
  EXPECT_GE(d.cosine, tolerance.at("cos").get<double>());
}

TEST_P(Golden, EqualsTransformers) {
  const Case& c = GetParam();
  const auto folder = fixture(c.name);
  if (folder.empty()) {
    GTEST_SKIP() << "fixture " << c.name << " is neither committed nor under FOVEAL_ORACLE";
  }
  auto context = Context::create({.threads = 2, .cpu_isa = c.isa, .backend = {}});
  if (!context) {
    GTEST_SKIP() << context.error().message();
  }
  const nlohmann::json info = testing::load_json(folder / "case.json");
  const SafetensorsFile expected =
      SafetensorsFile::open((folder / "expected.safetensors").string()).value();
  const std::string dtype = c.dtype == ComputeDType::kF32 ? "fp32" : "bf16";
  EncoderOptions options;
  options.dtype = c.dtype;
  const Outputs got = run(*context, folder, info, {options, {"all"}});
  for (const SafetensorsEntry& entry : expected.entries()) {
    if (!entry.name.ends_with("_pil")) {
      judge(entry.name, entry.name, info, got, expected, dtype);
    }
  }
  if (c.dtype == ComputeDType::kF32) {
    options.resize = ImageBackend::kPillow;
    const Outputs pillow = run(*context, folder, info, {options, {"pooled", "pixel_values"}});
    for (const char* key : {"pooled", "pixel_values"}) {
      if (expected.find(std::string(key) + "_pil") != nullptr) {
        judge(std::string(key) + "_pil", key, info, pillow, expected, dtype);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, Golden, ::testing::ValuesIn(cases()),
                         [](const ::testing::TestParamInfo<Case>& p) {
                           std::string name = p.param.name;
                           name.erase(std::remove(name.begin(), name.end(), '_'), name.end());
                           return name + (p.param.dtype == ComputeDType::kF32 ? "F32" : "Bf16") +
                                  p.param.isa;
                         });

}  // namespace
}  // namespace foveal
