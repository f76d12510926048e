// Encoder over the committed small models: the same bits alone and in any packing, for any number
// of threads; options that are refused; failures, stops and memory that is bounded with real
// pictures.
#include <gtest/gtest.h>
#include <foveal/encoder.hpp>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace foveal {
namespace {

const std::filesystem::path kGolden = std::filesystem::path(FOVEAL_SOURCE_DIR) / "tests" / "golden";

std::string model_folder(const std::string& name) {
  return (kGolden / "models" / name / "MODEL").string();
}

Image noise(int height, int width, unsigned seed) {
  std::mt19937 random(seed);
  Image out{.width = width, .height = height, .rgb = {}};
  out.rgb.resize(static_cast<std::size_t>(3 * height * width));
  for (std::uint8_t& v : out.rgb) {
    v = static_cast<std::uint8_t>(random() & 255U);
  }
  return out;
}

// Pictures of many sizes, names "0", "1" ...
std::vector<ImageInput> pictures(int count) {
  std::vector<ImageInput> out;
  for (int i = 0; i < count; ++i) {
    const int height = 40 + (i * 37) % 150;
    const int width = 40 + (i * 53) % 170;
    out.push_back(
        {.name = std::to_string(i), .content = noise(height, width, static_cast<unsigned>(i))});
  }
  return out;
}

// The bits of all outputs; floats as they are, so -0 and 0 differ.
std::string bits(const ImageResult& r) {
  std::string out = r.error ? r.error->describe() : "";
  for (const OutputRows& o : r.outputs) {
    out += o.name;
    out.append(reinterpret_cast<const char*>(o.values.data()), o.values.size() * sizeof(float));
    out.append(reinterpret_cast<const char*>(o.integers.data()),
               o.integers.size() * sizeof(std::int64_t));
  }
  return out;
}

std::vector<ImageResult> embed(const Encoder& encoder, std::vector<ImageInput> images,
                               const EmbedOptions& options) {
  auto results = encoder.embed(std::move(images), options);
  EXPECT_TRUE(results) << results.error().describe();
  return results ? *std::move(results) : std::vector<ImageResult>();
}

constexpr const char* kModels[] = {"vit_small",
                                   "clip_interpolate",
                                   "siglip_vision",
                                   "dinov2_registers_swiglu",
                                   "qwen2_5_vl_bf16_sharded",
                                   "qwen3_vl_small"};

class EncoderOfModel : public ::testing::TestWithParam<const char*> {
 protected:
  EncoderOptions options() const {
    EncoderOptions out;
    // Pictures here have many sizes; families with trained positions resize or interpolate.
    out.positions = std::string(GetParam()) == "clip_interpolate" ? PositionMode::kInterpolate
                                                                  : PositionMode::kAsTrained;
    return out;
  }
};

TEST_P(EncoderOfModel, GivesTheSameBitsAloneAndPackedInAnyOrderWithAnyThreads) {
  constexpr int kCount = 31;
  const EmbedOptions all{.outputs = {"all"}};
  const Context one = Context::create({.threads = 1}).value();
  const Encoder encoder = Encoder::open(one, model_folder(GetParam()), options()).value();
  std::vector<std::string> alone;
  for (int i = 0; i < kCount; ++i) {
    std::vector<ImageInput> single;
    single.push_back(pictures(kCount)[static_cast<std::size_t>(i)]);
    const auto results = embed(encoder, std::move(single), all);
    ASSERT_EQ(results.size(), 1U);
    ASSERT_FALSE(results[0].error) << results[0].error->describe();
    ASSERT_FALSE(results[0].outputs.empty());
    alone.push_back(bits(results[0]));
  }
  const auto expect_same = [&](const Encoder& e, std::vector<ImageInput> images,
                               const EmbedOptions& o, const std::string& what) {
    const auto results = embed(e, std::move(images), o);
    ASSERT_EQ(results.size(), static_cast<std::size_t>(kCount)) << what;
    for (std::size_t at = 0; at < results.size(); ++at) {
      ASSERT_EQ(results[at].index, static_cast<std::int64_t>(at));
      ASSERT_EQ(bits(results[at]) == alone[std::stoul(results[at].name)], true)
          << what << ": picture " << results[at].name << " at place " << at << " differs";
    }
  };
  expect_same(encoder, pictures(kCount), all, "packed");
  for (const std::int64_t batch_tokens : {600, 1500}) {
    EmbedOptions o = all;
    o.batch_tokens = batch_tokens;
    o.decode_threads = 3;
    expect_same(encoder, pictures(kCount), o, "batch_tokens " + std::to_string(batch_tokens));
  }
  std::vector<ImageInput> shuffled = pictures(kCount);
  std::shuffle(shuffled.begin(), shuffled.end(), std::mt19937(5));
  expect_same(encoder, std::move(shuffled), all, "shuffled");
  const Context four = Context::create({.threads = 4}).value();
  const Encoder threaded = Encoder::open(four, model_folder(GetParam()), options()).value();
  expect_same(threaded, pictures(kCount), all, "four threads");
}

TEST_P(EncoderOfModel, MakesTheRowsItPredicts) {
  const Context context = Context::create({.threads = 1}).value();
  const Encoder encoder = Encoder::open(context, model_folder(GetParam()), options()).value();
  std::vector<ImageInput> images = pictures(12);
  std::vector<ImageTokens> predicted;
  for (const ImageInput& image : images) {
    const Image& pixels = std::get<Image>(image.content);
    predicted.push_back(encoder.tokens_for(pixels.height, pixels.width).value());
  }
  const auto results = embed(encoder, std::move(images), {.outputs = {"last_hidden_state"}});
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(results[i].outputs.size(), 1U);
    EXPECT_EQ(results[i].outputs[0].shape[0], predicted[i].sequence_rows) << "picture " << i;
    const auto& shape = results[i].outputs[0].shape;
    EXPECT_EQ(static_cast<std::int64_t>(results[i].outputs[0].values.size()), shape[0] * shape[1]);
  }
}

TEST_P(EncoderOfModel, CallsAtOnceFromSeveralThreadsGiveTheSameBits) {
  const Context context = Context::create({.threads = 2}).value();
  const Encoder encoder = Encoder::open(context, model_folder(GetParam()), options()).value();
  const auto want = embed(encoder, pictures(6), {});
  std::atomic<int> different{0};
  std::vector<std::jthread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 3; ++round) {
        const auto got = encoder.embed(pictures(6), {});
        for (std::size_t i = 0; got && i < want.size(); ++i) {
          different += bits((*got)[i]) == bits(want[i]) ? 0 : 1;
        }
        different += got ? 0 : 1;
      }
    });
  }
  threads.clear();
  EXPECT_EQ(different, 0);
}

INSTANTIATE_TEST_SUITE_P(Golden, EncoderOfModel, ::testing::ValuesIn(kModels),
                         [](const auto& c) { return std::string(c.param); });

struct EncoderTest : ::testing::Test {
  Context context = Context::create({.threads = 2}).value();
  Encoder vit = Encoder::open(context, model_folder("vit_small")).value();
  Encoder qwen = Encoder::open(context, model_folder("qwen2_5_vl_bf16_sharded")).value();
};

TEST_F(EncoderTest, BrokenPicturesCostTheirOwnResultOnly) {
  std::vector<ImageInput> images = pictures(10);
  images[2].content = ImageInput::Bytes{{'n', 'o', ' ', 'p', 'i', 'c', 't', 'u', 'r', 'e'}};
  images[4].content = ImageInput::Bytes{};
  images[6] = {.name = "/nonexistent/file.jpg"};
  std::get<Image>(images[8].content).rgb.pop_back();
  const auto good = embed(vit, pictures(10), {});
  const auto results = embed(vit, std::move(images), {});
  ASSERT_EQ(results.size(), 10U);
  const std::vector<std::pair<std::size_t, ErrorCode>> broken{{2, ErrorCode::kImageFormatUnknown},
                                                              {4, ErrorCode::kImageEmpty},
                                                              {6, ErrorCode::kImageUnreadable},
                                                              {8, ErrorCode::kImageBufferSize}};
  for (const auto& [i, code] : broken) {
    ASSERT_TRUE(results[i].error) << i;
    EXPECT_EQ(results[i].error->code(), code) << results[i].error->describe();
    EXPECT_TRUE(results[i].outputs.empty());
  }
  for (const std::size_t i : {0U, 1U, 3U, 5U, 7U, 9U}) {
    EXPECT_EQ(bits(results[i]) == bits(good[i]), true) << i;
  }
}

TEST_F(EncoderTest, APictureLargerThanABatchIsRefusedWithItsSize) {
  std::vector<ImageInput> images;
  for (const auto& [name, side] :
       {std::pair{"small", 56}, std::pair{"big", 140}, std::pair{"small again", 56}}) {
    images.push_back({.name = name, .content = noise(side, side, 1)});
  }
  const ImageTokens small = qwen.tokens_for(56, 56).value();
  const ImageTokens big = qwen.tokens_for(140, 140).value();
  ASSERT_LT(small.sequence_rows, big.sequence_rows);
  const auto results = embed(qwen, std::move(images), {.batch_tokens = big.sequence_rows - 1});
  ASSERT_TRUE(results.at(1).error);
  EXPECT_EQ(results[1].error->code(), ErrorCode::kImageOverBudget);
  EXPECT_EQ(results[1].error->field("tokens")->text(), std::to_string(big.sequence_rows));
  EXPECT_FALSE(results[0].error) << results[0].error->describe();
  EXPECT_FALSE(results[2].error) << results[2].error->describe();
}

TEST_F(EncoderTest, RefusesOptionsThatMakeNoSense) {
  const auto code = [&](const EmbedOptions& options) {
    const auto r = vit.embed(pictures(1), options);
    EXPECT_FALSE(r);
    return r ? ErrorCode::kInternal : r.error().code();
  };
  EXPECT_EQ(code({.outputs = {"pool"}}), ErrorCode::kOptionUnknown);
  EXPECT_EQ(code({.outputs = {"deepstack"}}), ErrorCode::kOptionUnknown);
  EXPECT_EQ(code({.outputs = {}}), ErrorCode::kOptionInvalid);
  EXPECT_EQ(code({.layer = vit.info().num_layers + 1}), ErrorCode::kOptionInvalid);
  EXPECT_EQ(code({.layer = -1}), ErrorCode::kOptionInvalid);
  EXPECT_EQ(code({.batch_tokens = 0}), ErrorCode::kOptionInvalid);
  EXPECT_EQ(code({.batch_tokens = std::int64_t{1} << 40}), ErrorCode::kOptionInvalid);
  EXPECT_EQ(code({.decode_threads = -1}), ErrorCode::kOptionInvalid);
  EXPECT_EQ(code({.decode_threads = 10'000}), ErrorCode::kOptionInvalid);
  EXPECT_TRUE(vit.embed(pictures(1), {.layer = vit.info().num_layers}));
}

TEST_F(EncoderTest, DeviceIsTheCpuOrAnErrorThatSaysWhyNot) {
  const auto code = [&](const std::string& device) {
    EncoderOptions options;
    options.device = device;
    const auto e = Encoder::open(context, model_folder("vit_small"), options);
    return e ? std::string("opened") : std::string(e.error().name());
  };
  EXPECT_EQ(code("auto"), "opened");
  EXPECT_EQ(code("cpu"), "opened");
  for (const char* device : {"cuda", "cuda:0", "cuda:12"}) {
    EXPECT_EQ(code(device), "DeviceUnavailable") << device;
  }
  for (const char* device : {"gpu", "cuda:", "cuda:x", "CPU", "cpu:0"}) {
    EXPECT_EQ(code(device), "OptionUnknown") << device;
  }
}

TEST_F(EncoderTest, DtypeIsBf16WithTilesAndF32ElseUnlessToldOtherwise) {
  const auto dtype_of = [&](const Context& c, ComputeDType dtype) {
    EncoderOptions options;
    options.dtype = dtype;
    return Encoder::open(c, model_folder("vit_small"), options).value().info().compute_dtype;
  };
  for (const std::string_view isa : context.cpu_isas()) {
    const Context forced = Context::create({.threads = 1, .cpu_isa = std::string(isa)}).value();
    EXPECT_EQ(dtype_of(forced, ComputeDType::kAuto), isa == "amx" ? "bf16" : "f32") << isa;
    EXPECT_EQ(dtype_of(forced, ComputeDType::kF32), "f32");
    EXPECT_EQ(dtype_of(forced, ComputeDType::kF16), "f32");
    EXPECT_EQ(dtype_of(forced, ComputeDType::kBF16), "bf16");
  }
}

TEST_F(EncoderTest, AMissingFolderIsModelNotFound) {
  const auto e = Encoder::open(context, "/nonexistent/model");
  ASSERT_FALSE(e);
  EXPECT_EQ(e.error().code(), ErrorCode::kModelNotFound);
}

TEST_F(EncoderTest, NormalizedVectorsHaveLengthOne) {
  for (const ImageResult& r : embed(vit, pictures(4), {.normalize = Normalize::kYes})) {
    double sum = 0;
    for (const float f : r.outputs.at(0).values) {
      sum += static_cast<double>(f) * static_cast<double>(f);
    }
    // Each of n squares is off by 2^-24 of itself, and their sum is 1.
    EXPECT_NEAR(sum, 1.0, 4e-6);
  }
}

TEST_F(EncoderTest, AStopBetweenBatchesReturnsWhatIsDone) {
  std::stop_source stop;
  std::int64_t given = 0;
  std::int64_t done = 0;
  const Status status = vit.embed(
      [&]() -> std::optional<ImageInput> {  // endless
        return ImageInput{.name = std::to_string(given++), .content = noise(64, 64, 1)};
      },
      {.batch_tokens = 100},
      [&](ImageResult&& result) -> Status {
        EXPECT_FALSE(result.error);
        if (++done == 5) {
          stop.request_stop();
        }
        return {};
      },
      stop.get_token());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kCancelled);
  EXPECT_EQ(status.error().field("done")->text(), std::to_string(done));
}

TEST_F(EncoderTest, FingerprintsTellModelsAndSettingsApart) {
  const auto hash = [](const std::string& json) {
    const std::string_view key = "\"content_hash\": \"";
    return json.substr(json.find(key) + key.size(), 16);
  };
  const std::string plain = vit.fingerprint({});
  EXPECT_EQ(hash(Encoder::open(context, model_folder("vit_small")).value().fingerprint({})),
            hash(plain));
  EXPECT_NE(hash(qwen.fingerprint({})), hash(plain));
  EXPECT_NE(hash(vit.fingerprint({.layer = 1})), hash(plain));
  EXPECT_EQ(hash(vit.fingerprint({.batch_tokens = 5})), hash(plain));
  const Context reference = Context::create({.threads = 1, .backend = "reference"}).value();
  const std::string other =
      Encoder::open(reference, model_folder("vit_small")).value().fingerprint({});
  EXPECT_EQ(hash(other), hash(plain));
  EXPECT_NE(other.find("\"backend\": \"reference\""), std::string::npos) << other;
}

TEST_F(EncoderTest, AFastJpegIsCloseAndItsFingerprintDiffers) {
  EncoderOptions options;
  options.fast_jpeg = FastJpeg::kYes;
  const Encoder fast = Encoder::open(context, model_folder("vit_small"), options).value();
  const std::vector<ImageInput> images{
      {.name = (kGolden / "units" / "decode" / "rgb_444.jpg").string()}};
  const auto exact = embed(vit, images, {});
  const auto scaled = embed(fast, images, {});
  ASSERT_FALSE(exact.at(0).error) << exact[0].error->describe();
  ASSERT_FALSE(scaled.at(0).error) << scaled[0].error->describe();
  const auto& a = exact[0].outputs.at(0).values;
  const auto& b = scaled[0].outputs.at(0).values;
  double dot = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    dot += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    aa += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    bb += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  EXPECT_GT(dot / std::sqrt(aa * bb), 0.95);
  EXPECT_NE(fast.fingerprint({}), vit.fingerprint({}));
}

}  // namespace
}  // namespace foveal
