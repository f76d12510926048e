// The attention fixtures: inputs, options and float64 results in safetensors files, tolerances in
// index.json. The reference serves all of them, and so does `cpu`.
#include "support.hpp"
#include "tensor/safetensors.hpp"
#include "tensor/tensor.hpp"

#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

namespace foveal::test {
namespace {

std::filesystem::path folder() {
  const char* oracle = std::getenv("FOVEAL_ORACLE");
  const std::filesystem::path source = FOVEAL_SOURCE_DIR;
  for (const auto& path :
       {std::filesystem::path(oracle == nullptr ? "" : oracle) / "attention",
        source / "../shared/oracle/attention", source / "tests/golden/attention"}) {
    if (std::filesystem::exists(path / "index.json")) {
      return path;
    }
  }
  return {};
}

std::vector<std::int64_t> lengths(const SafetensorsFile& file, std::string_view name) {
  const ConstTensorView view = file.view(*file.find(name));
  std::vector<std::int32_t> cu(static_cast<std::size_t>(view.numel()));
  std::memcpy(cu.data(), view.data, cu.size() * 4);
  std::vector<std::int64_t> out;
  for (std::size_t i = 1; i < cu.size(); ++i) {
    out.push_back(cu[i] - cu[i - 1]);
  }
  return out;
}

std::vector<float> floats(const SafetensorsFile& file, std::string_view name) {
  const ConstTensorView view = file.view(*file.find(name));
  std::vector<float> out(static_cast<std::size_t>(view.numel()));
  if (!out.empty()) {
    std::memcpy(out.data(), view.data, out.size() * 4);
  }
  return out;
}

void put(const TensorView& to, const std::vector<float>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    write(to, static_cast<std::int64_t>(i), values[i]);
  }
}

struct Fixture {
  nlohmann::json entry;
  SafetensorsFile file;

  Case as_case(DType dtype) const {
    Case c;
    c.heads = {.num_heads = entry["heads"],
               .num_kv_heads = entry["kv_heads"],
               .head_dim = entry["head_dim"]};
    c.heads.v_head_dim = file.find("v")->shape[2];
    c.q_lens = lengths(file, "cu_seqlens_q");
    c.k_lens = lengths(file, "cu_seqlens_k");
    c.dtype = dtype;
    c.options.softmax_scale = entry["scale"].get<float>();
    c.options.causal = entry["causal"] ? Causal::kYes : Causal::kNo;
    if (entry["window"][0] >= 0) {
      c.options.window_left = Tokens(entry["window"][0]);
    }
    if (entry["window"][1] >= 0 && !entry["causal"]) {
      c.options.window_right = Tokens(entry["window"][1]);
    }
    if (entry["softcap"] > 0) {
      c.options.softcap = entry["softcap"].get<float>();
    }
    c.options.sinks = entry["sinks"];
    c.options.bias = entry["bias"];
    c.options.lse = Lse::kYes;
    return c;
  }
};

class Golden : public OnProvider {
 protected:
  // |out - expected| <= out, |lse - expected| <= lse_relative * max(1, |expected|), infinities
  // equal.
  void check(const Fixture& fixture, DType dtype, const char* tolerance_key) const {
    Inputs in(fixture.as_case(dtype));
    put(in.q(), floats(fixture.file, "q"));
    put(in.k(), floats(fixture.file, "k"));
    put(in.v(), floats(fixture.file, "v"));
    if (in.with().options.sinks) {
      in.sinks() = floats(fixture.file, "sinks");
    }
    if (in.with().options.bias) {
      in.bias() = floats(fixture.file, "bias");
    }
    const Outputs got = run(in);
    ASSERT_TRUE(got.untouched_outside()) << fixture.entry["name"];
    const auto& tolerance = fixture.entry["tolerance"][tolerance_key];
    compare("out", got.view.out, floats(fixture.file, "out"), {tolerance["out"], 0});
    compare("lse", *got.view.lse, floats(fixture.file, "lse"), {0, tolerance["lse_relative"]});
  }

 private:
  struct Tolerance {
    double absolute;
    double relative;  // times max(1, |expected|)
  };
  static void compare(const char* what, const TensorView& got, const std::vector<float>& want,
                      Tolerance t) {
    double worst = 0;
    for (std::size_t i = 0; i < want.size(); ++i) {
      const double w = static_cast<double>(want[i]);
      const double g = static_cast<double>(read(got, static_cast<std::int64_t>(i)));
      const double allowed =
          t.absolute + (t.relative > 0 ? t.relative * std::max(1.0, std::fabs(w)) : 0.0);
      ASSERT_TRUE(g == w || std::fabs(g - w) <= allowed)
          << what << " element " << i << ": " << g << ", expected " << w << " +- " << allowed;
      worst = g == w ? worst : std::max(worst, std::fabs(g - w));
    }
    testing::Test::RecordProperty(std::string("worst_") + what, std::to_string(worst));
  }

 protected:
  void each_fixture(DType dtype, const char* tolerance_key) {
    const std::filesystem::path path = folder();
    if (path.empty()) {
      GTEST_SKIP()
          << "no attention fixtures: neither FOVEAL_ORACLE nor tests/golden/attention is there";
    }
    const nlohmann::json index = nlohmann::json::parse(std::ifstream(path / "index.json"));
    ASSERT_EQ(index.size(), 37U);
    for (const nlohmann::json& entry : index) {
      const std::string name = entry["name"];
      SCOPED_TRACE(name);
      auto file = SafetensorsFile::open((path / (name + ".safetensors")).string());
      const Fixture fixture{entry, std::move(file).value()};
      const std::string reason =
          reason_of(GetParam(), checked(Inputs(fixture.as_case(dtype)).problem()).value());
      if (GetParam().backend == "reference" || GetParam().backend == "cpu") {
        ASSERT_EQ(reason, "") << "serves every option";
      }
      if (reason.empty()) {
        check(fixture, dtype, tolerance_key);
      }
    }
  }
};

TEST_P(Golden, EveryFixtureInFloat32) {
  each_fixture(DType::kF32, "fp32");
}

// The inputs are exact in both, so that the output's rounding alone is allowed for.
TEST_P(Golden, EveryFixtureInBfloat16) {
  each_fixture(DType::kBF16, "bf16");
}
TEST_P(Golden, EveryFixtureInFloat16) {
  each_fixture(DType::kF16, "bf16");
}

INSTANTIATE_TEST_SUITE_P(Backends, Golden, testing::ValuesIn(providers()), provider_name);

}  // namespace
}  // namespace foveal::test
