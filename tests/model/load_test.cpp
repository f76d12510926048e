// Folders that are wrong in one way each: every one has its id and names the culprit.
#include "model/folder_support.hpp"

#include <foveal/encoder.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <functional>

namespace foveal {
namespace {

using testing::ModelCopy;
using testing::TempFolder;
using testing::write_text;

// "{name}" left of a template; values may hold braces of their own.
bool has_unfilled_field(const std::string& text) {
  for (std::size_t open = text.find('{'); open != std::string::npos;
       open = text.find('{', open + 1)) {
    const std::size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_", open + 1);
    if (end != std::string::npos && end > open + 1 && text[end] == '}') {
      return true;
    }
  }
  return false;
}

class Load : public ::testing::Test {
 protected:
  std::optional<Error> error_of(const std::string& model, const std::string& cache = "") {
    EncoderOptions options;
    options.hub_cache = cache;
    auto encoder = Encoder::open(context_, model, options);
    return encoder ? std::nullopt : std::optional(encoder.error());
  }
  // Expects `code`, with `culprit` in the message.
  void expect_error(const std::string& model, ErrorCode code, const std::string& culprit) {
    const auto error = error_of(model);
    ASSERT_TRUE(error.has_value()) << "it loaded; expected " << Error(code).name();
    EXPECT_EQ(error->code(), code) << error->describe();
    EXPECT_NE(error->message().find(culprit), std::string::npos) << error->message();
    EXPECT_FALSE(has_unfilled_field(error->message())) << error->message();
    EXPECT_FALSE(has_unfilled_field(error->fix())) << error->fix();
  }
  void expect_config_error(const std::string& name, const std::function<void(ModelCopy&)>& change,
                           const std::string& culprit) {
    ModelCopy copy(name);
    change(copy);
    SCOPED_TRACE(culprit);
    expect_error(copy.save(), ErrorCode::kConfigField, culprit);
  }

  Context context_ = Context::create({.threads = 1, .cpu_isa = {}, .backend = {}}).value();
};

TEST_F(Load, EveryCommittedModelLoadsFromACopy) {
  for (const char* name :
       {"vit_small", "clip_interpolate", "siglip_vision", "dinov2_registers_swiglu",
        "qwen2_5_vl_bf16_sharded", "qwen3_vl_small"}) {
    const ModelCopy copy(name);
    const auto error = error_of(copy.save());
    EXPECT_FALSE(error.has_value()) << name << ": " << error->describe();
  }
}

TEST_F(Load, EveryMissingTensorIsNamed) {
  for (const char* name : {"vit_small", "clip_interpolate", "siglip_vision",
                           "dinov2_registers_swiglu", "qwen3_vl_small"}) {
    const ModelCopy whole(name);
    const std::string folder = whole.save();
    for (const auto& [tensor, raw] : whole.tensors) {
      const bool vision =
          std::string(name) != "qwen3_vl_small" || tensor.starts_with("model.visual.");
      // A ViT without its pooler is a classifier's folder: then the rest of the pooler is what is
      // left over.
      if (!vision || tensor.ends_with("mask_token") || tensor.starts_with("pooler.dense.weight")) {
        continue;
      }
      testing::RawTensors without = whole.tensors;
      without.erase(tensor);
      testing::write_tensors(whole / "model.safetensors", without);
      expect_error(folder, ErrorCode::kWeightMissing, tensor);
    }
  }
}

TEST_F(Load, AMisshapenTensorIsNamed) {
  ModelCopy copy("siglip_vision");
  auto& t = copy.tensors.at("vision_model.encoder.layers.1.mlp.fc2.weight");
  std::swap(t.shape[0], t.shape[1]);
  expect_error(copy.save(), ErrorCode::kWeightShape,
               "vision_model.encoder.layers.1.mlp.fc2.weight");
}

TEST_F(Load, AnUnusedTensorIsNamed) {
  ModelCopy copy("siglip_vision");
  copy.tensors["vision_model.encoder.layers.0.extra.weight"] = {"F16", {1}, std::string(2, '\0')};
  expect_error(copy.save(), ErrorCode::kWeightUnused, "vision_model.encoder.layers.0.extra.weight");
  copy.tensors.erase("vision_model.encoder.layers.0.extra.weight");
  copy.tensors["text_model.embeddings.token_embedding.weight"] = {"F16", {1}, std::string(2, '\0')};
  EXPECT_FALSE(error_of(copy.save()).has_value()) << "a text tower is none of our business";
}

TEST_F(Load, AWeightOfAnotherDtypeIsNamed) {
  ModelCopy copy("vit_small");
  auto& t = copy.tensors.at("layernorm.weight");
  t = {"F8_E4M3", t.shape, std::string(t.bytes.size() / 4, '\0')};
  expect_error(copy.save(), ErrorCode::kWeightDtype, "layernorm.weight");
  copy.config["quantization_config"] = {{"quant_method", "fp8"}};
  expect_error(copy.save(), ErrorCode::kWeightsQuantised, "F8_E4M3");
  for (const std::string packed : {"qweight", "weight_packed"}) {
    ModelCopy gptq("vit_small");
    const std::string stem = "encoder.layer.0.intermediate.dense.";
    gptq.tensors.erase(stem + "weight");
    gptq.tensors[stem + packed] = {"I32", {1}, std::string(4, '\0')};
    expect_error(gptq.save(), ErrorCode::kWeightMissing, stem + "weight");
    gptq.config["quantization_config"] = {{"quant_method", 4}};  // what it says does not matter
    expect_error(gptq.save(), ErrorCode::kWeightsQuantised, packed);
  }
}

TEST_F(Load, ATruncatedFileIsNamed) {
  const ModelCopy copy("vit_small");
  const std::string folder = copy.save();
  const auto size = std::filesystem::file_size(copy / "model.safetensors");
  std::filesystem::resize_file(copy / "model.safetensors", size - 1);
  expect_error(folder, ErrorCode::kSafetensorsTruncated, "model.safetensors");
  std::filesystem::resize_file(copy / "model.safetensors", 5);
  expect_error(folder, ErrorCode::kSafetensorsInvalid, "model.safetensors");
  std::filesystem::remove(copy / "model.safetensors");
  expect_error(folder, ErrorCode::kModelFileMissing, "model.safetensors");
}

TEST_F(Load, ShardsMustBeThereAndAgreeWithTheirIndex) {
  const ModelCopy copy("qwen2_5_vl_bf16_sharded");
  const std::string folder = copy.save();
  const auto index_path = copy / "model.safetensors.index.json";
  const nlohmann::json index = testing::load_json(index_path);

  std::filesystem::rename(copy / "model-00006-of-00007.safetensors", copy / "away");
  expect_error(folder, ErrorCode::kShardMissing, "model-00006-of-00007.safetensors");
  std::filesystem::rename(copy / "away", copy / "model-00006-of-00007.safetensors");

  nlohmann::json changed = index;
  changed["weight_map"]["visual.merger.ln_q.weight"] = "model-00001-of-00007.safetensors";
  write_text(index_path, changed.dump());
  expect_error(folder, ErrorCode::kShardTensorMissing, "visual.merger.ln_q.weight");

  changed = index;
  changed["weight_map"]["visual.merger.ln_q.weight"] = "../model-00007-of-00007.safetensors";
  write_text(index_path, changed.dump());
  expect_error(folder, ErrorCode::kJsonInvalid, "outside of the folder");

  changed = index;
  changed.erase("weight_map");
  write_text(index_path, changed.dump());
  expect_error(folder, ErrorCode::kJsonInvalid, "weight_map");

  write_text(index_path, index.dump().substr(0, 100));
  expect_error(folder, ErrorCode::kJsonInvalid, "model.safetensors.index.json");

  // The same tensor in two shards.
  write_text(index_path, index.dump());
  testing::RawTensors shard = testing::read_tensors(copy / "model-00006-of-00007.safetensors");
  shard["visual.merger.ln_q.weight"] = {"BF16", {1}, std::string(2, '\0')};
  testing::write_tensors(copy / "model-00006-of-00007.safetensors", shard);
  expect_error(folder, ErrorCode::kWeightDuplicate, "visual.merger.ln_q.weight");
}

TEST_F(Load, NonsenseInConfigNamesFileAndField) {
  expect_config_error(
      "vit_small", [](ModelCopy& m) { m.config["hidden_size"] = -64; }, "hidden_size");
  expect_config_error(
      "vit_small", [](ModelCopy& m) { m.config["hidden_size"] = "64"; }, "hidden_size");
  expect_config_error(
      "vit_small", [](ModelCopy& m) { m.config["hidden_size"] = 1e300; }, "hidden_size");
  expect_config_error(
      "vit_small", [](ModelCopy& m) { m.config["num_hidden_layers"] = 0; }, "num_hidden_layers");
  expect_config_error(
      "vit_small", [](ModelCopy& m) { m.config["num_attention_heads"] = 5; },
      "num_attention_heads");
  expect_config_error(
      "vit_small", [](ModelCopy& m) { m.config["num_attention_heads"] = 64; }, "head_dim");
  expect_config_error(
      "vit_small", [](ModelCopy& m) { m.config["hidden_act"] = "nonsense"; }, "hidden_act");
  expect_config_error(
      "vit_small", [](ModelCopy& m) { m.config["num_channels"] = 4; }, "num_channels");
  expect_config_error(
      "vit_small", [](ModelCopy& m) { m.config["patch_size"] = 100; }, "image_size");
  expect_config_error(
      "vit_small", [](ModelCopy& m) { m.config["layer_norm_eps"] = -1; }, "layer_norm_eps");
  expect_config_error(
      "siglip_vision", [](ModelCopy& m) { m.config["vision_use_head"] = "yes"; },
      "vision_use_head");
  expect_config_error(
      "qwen2_5_vl_bf16_sharded", [](ModelCopy& m) { m.config["vision_config"] = 7; },
      "vision_config");
  const auto windows = [this](const nlohmann::json& value) {
    expect_config_error(
        "qwen2_5_vl_bf16_sharded",
        [&](ModelCopy& m) { m.config["vision_config"]["fullatt_block_indexes"] = value; },
        "vision_config.fullatt_block_indexes");
  };
  windows(
      {"1", "2"});  // a layer index compared as text once made all layers windowed (cosmos-rl#171)
  windows({3});
  windows({-1});
  expect_config_error(
      "qwen2_5_vl_bf16_sharded",
      [](ModelCopy& m) { m.config["vision_config"]["window_size"] = 20; },
      "vision_config.window_size");
  expect_config_error(
      "qwen3_vl_small",
      [](ModelCopy& m) { m.config["vision_config"]["num_position_embeddings"] = 63; },
      "vision_config.num_position_embeddings");
}

TEST_F(Load, NonsenseInThePreprocessorNamesFileAndField) {
  expect_config_error(
      "vit_small",
      [](ModelCopy& m) {
        m.preprocessor["image_mean"] = {0.5, 0.5};
      },
      "image_mean");
  expect_config_error(
      "vit_small",
      [](ModelCopy& m) {
        m.preprocessor["image_std"] = {0.5, 0.0, 0.5};
      },
      "image_std");
  expect_config_error(
      "vit_small",
      [](ModelCopy& m) {
        m.preprocessor["size"] = {{"height", 64}};
      },
      "size");
  expect_config_error(
      "vit_small", [](ModelCopy& m) { m.preprocessor["size"] = 0; }, "size");
  expect_config_error(
      "vit_small", [](ModelCopy& m) { m.preprocessor["rescale_factor"] = 0; }, "rescale_factor");
  expect_config_error(
      "qwen3_vl_small", [](ModelCopy& m) { m.preprocessor["patch_size"] = 14; }, "patch_size");
  expect_config_error(
      "qwen3_vl_small",
      [](ModelCopy& m) {
        m.preprocessor["size"] = {{"shortest_edge", 4096}};
      },
      "size");
  expect_config_error(
      "qwen3_vl_small",
      [](ModelCopy& m) {
        m.preprocessor["size"] = {{"height", 64}, {"width", 64}};  // was ignored without a word
      },
      "size");
  expect_config_error(
      "qwen3_vl_small", [](ModelCopy& m) { m.preprocessor["min_pixels"] = 1 << 20; }, "min_pixels");
  ModelCopy copy("vit_small");
  copy.preprocessor["image_processor_type"] = "VivitImageProcessor";
  expect_error(copy.save(), ErrorCode::kPreprocessorUnsupported, "VivitImageProcessor");
  copy.preprocessor["image_processor_type"] = "ViTImageProcessorFast";
  EXPECT_FALSE(error_of(copy.save()).has_value());
  copy.preprocessor["resample"] = 0;
  expect_error(copy.save(), ErrorCode::kPreprocessorUnsupported, "resample");
  ModelCopy qwen("qwen3_vl_small");
  qwen.preprocessor = {{"image_processor_type", "ViTImageProcessor"},
                       {"size", 24}};  // 3 x 3 patches
  expect_error(qwen.save(), ErrorCode::kPreprocessorUnsupported, "image_processor_type");
}

TEST_F(Load, AGridThatPositionsWereNotTrainedForIsRefusedUnlessAskedFor) {
  ModelCopy copy("vit_small");
  const std::int64_t trained = copy.config.at("image_size").get<std::int64_t>();
  copy.preprocessor["size"] = 2 * trained;
  const std::string folder = copy.save();
  const auto encoder = Encoder::open(context_, folder).value();
  const auto refused = encoder.tokens_for(40, 30, "a.png");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), ErrorCode::kImageSizeUnsupported) << refused.error().describe();
  EXPECT_NE(refused.error().message().find("a.png"), std::string::npos);
  EncoderOptions options;
  options.positions = PositionMode::kInterpolate;
  const auto asked = Encoder::open(context_, folder, options).value();
  const std::int64_t side = 2 * trained / asked.info().patch_size;
  EXPECT_EQ(asked.tokens_for(40, 30, "a.png").value().grid_h, side);
}

TEST_F(Load, AFastJpegIsNotScaledWherePicturesKeepTheirSize) {
  ModelCopy copy("vit_small");
  copy.preprocessor["do_resize"] = false;
  copy.preprocessor["do_center_crop"] = true;
  copy.preprocessor["crop_size"] = 48;  // of 224 x 224: half the scale would be another part of it
  const std::string folder = copy.save();
  const auto picture = testing::golden_models() / "qwen2_5_vl_bf16_sharded" / "inputs" / "a.jpg";
  const auto pixels = [&](FastJpeg fast) {
    EncoderOptions options;
    options.fast_jpeg = fast;
    const auto encoder = Encoder::open(context_, folder, options).value();
    return encoder.embed({{.name = picture.string(), .content = {}}}, {.outputs = {"pixel_values"}})
        .value()
        .at(0)
        .outputs.at(0)
        .values;
  };
  EXPECT_TRUE(pixels(FastJpeg::kYes) == pixels(FastJpeg::kNo));
}

TEST_F(Load, BrokenAndMissingJsonIsNamed) {
  const ModelCopy copy("vit_small");
  const std::string folder = copy.save();
  write_text(copy / "preprocessor_config.json", "{\"size\": ");
  expect_error(folder, ErrorCode::kJsonInvalid, "preprocessor_config.json");
  std::filesystem::remove(copy / "preprocessor_config.json");
  expect_error(folder, ErrorCode::kModelFileMissing, "preprocessor_config.json");
  write_text(copy / "processor_config.json",
             nlohmann::json{{"image_processor", copy.preprocessor}}.dump());
  EXPECT_FALSE(error_of(folder).has_value())
      << "processor_config.json -> image_processor is read too";
  // Deep enough to run out of stack where a value is printed level by level.
  constexpr std::size_t kLevels = 200'000;
  write_text(copy / "config.json", "{\"model_type\": \"vit\", \"hidden_size\": " +
                                       std::string(kLevels, '[') + std::string(kLevels, ']') + "}");
  expect_error(folder, ErrorCode::kJsonInvalid, "64 levels");
  write_text(copy / "config.json", "[1, 2]");
  expect_error(folder, ErrorCode::kJsonInvalid, "config.json");
  std::filesystem::remove(copy / "config.json");
  expect_error(folder, ErrorCode::kModelFileMissing, "config.json");
}

TEST_F(Load, JsonThatIsNoReasonableFileIsRefusedAtOnce) {
  constexpr int kRounds = 4;
  for (const char* name : {"config.json", "preprocessor_config.json"}) {
    for (int round = 0; round < kRounds; ++round) {
      const ModelCopy copy("vit_small");
      const std::string folder = copy.save();
      const auto path = copy / name;
      std::filesystem::remove(path);
      if (round == 0) {
        ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);  // without a writer: opening it would wait
      } else if (round == 1) {
        std::filesystem::create_directory(path);
      } else if (round == 2) {
        std::filesystem::create_symlink("/dev/zero", path);
      } else {
        write_text(path, "{}");
        std::filesystem::resize_file(path, std::uintmax_t{1} << 40);  // sparse
      }
      expect_error(folder, ErrorCode::kJsonInvalid, name);
    }
  }
}

TEST_F(Load, TheReasonWhyJsonIsInvalidStaysShort) {
  const ModelCopy copy("vit_small");
  const std::string folder = copy.save();
  constexpr std::size_t kDigits = 100'000;  // a number that overflows: the parser quotes it
  write_text(copy / "config.json", "{\"hidden_size\": " + std::string(kDigits, '9') + "}");
  const auto error = error_of(folder);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->code(), ErrorCode::kJsonInvalid);
  EXPECT_LT(error->message().size(), 1000U);
}

TEST_F(Load, UnknownFamiliesAreNamedWithTheKnownOnes) {
  ModelCopy copy("vit_small");
  copy.config["model_type"] = "resnet";
  expect_error(copy.save(), ErrorCode::kFamilyUnknown, "resnet");
  copy.config.erase("model_type");
  expect_error(copy.save(), ErrorCode::kFamilyUnknown, "(none)");
  EXPECT_NE(error_of(copy.save())->fix().find("dinov2_with_registers"), std::string::npos);
}

TEST_F(Load, ForeignFormatsAreRecognised) {
  const auto folder_with = [](TempFolder& f,
                              std::initializer_list<std::pair<const char*, const char*>> files) {
    for (const auto& [name, text] : files) {
      write_text(f / name, text);
    }
    return f.path().string();
  };
  struct Row {
    ErrorCode code;
    std::initializer_list<std::pair<const char*, const char*>> files;
  };
  const std::initializer_list<Row> rows{
      {ErrorCode::kFormatGguf, {{"model-q8_0.gguf", "GGUF"}}},
      {ErrorCode::kFormatOnnx, {{"config.json", "{}"}, {"model.onnx", "x"}}},
      {ErrorCode::kFormatPickle,
       {{"config.json", R"({"model_type":"vit"})"}, {"pytorch_model.bin", "x"}}},
      {ErrorCode::kFormatPickle, {{"model.pth", "x"}}},
      {ErrorCode::kFormatOpenClip,
       {{"open_clip_config.json", "{}"}, {"open_clip_model.safetensors", "x"}}},
      {ErrorCode::kFormatTimm,
       {{"config.json", R"({"architecture":"vit_base_patch16_224","pretrained_cfg":{}})"},
        {"model.safetensors", "x"}}},
  };
  for (const Row& row : rows) {
    TempFolder f;
    expect_error(folder_with(f, row.files), row.code, f.path().string());
  }
  TempFolder f;
  folder_with(f, {{"a.gguf", "GGUF"}});
  expect_error((f / "a.gguf").string(), ErrorCode::kFormatGguf, "a.gguf");
}

TEST_F(Load, ModelsAreFoundInTheHubCache) {
  TempFolder cache;
  const ModelCopy copy("vit_small");
  copy.save();
  const auto repo = cache / "models--org--tiny";
  std::filesystem::create_directories(repo / "refs");
  std::filesystem::create_directories(repo / "snapshots");
  std::filesystem::copy(copy / "", repo / "snapshots" / "abc123",
                        std::filesystem::copy_options::recursive);
  write_text(repo / "refs" / "main", "abc123");
  const std::string root = cache.path().string();
  EXPECT_FALSE(error_of("org/tiny", root).has_value());
  EXPECT_FALSE(error_of("org/tiny@main", root).has_value());
  EXPECT_FALSE(error_of("org/tiny@abc123", root).has_value());
  for (const char* absent :
       {"org/tiny@v2", "org/other", "tiny", "../../etc/passwd", "org/../tiny", "a/b/c", ""}) {
    const auto error = error_of(absent, root);
    ASSERT_TRUE(error.has_value()) << absent;
    EXPECT_EQ(error->code(), ErrorCode::kModelNotFound) << absent;
  }
  EXPECT_EQ(error_of("org/tiny")->code(), ErrorCode::kModelNotFound)
      << "without a cache only folders are models";
}

TEST_F(Load, ARefOfTheHubCacheLeadsNowhereElse) {
  TempFolder cache;
  const ModelCopy copy("vit_small");
  const std::string elsewhere = copy.save();
  const auto repo = cache / "models--org--tiny";
  std::filesystem::create_directories(repo / "refs");
  std::filesystem::create_directories(repo / "snapshots");
  write_text(repo / "refs" / "absolute", elsewhere);
  write_text(repo / "refs" / "upward", "..");
  std::filesystem::create_symlink(elsewhere, cache / "linked");
  write_text(repo / "refs" / "relative", "../../linked");
  write_text(repo / "refs" / "long", std::string(1 << 20, 'a'));
  ASSERT_EQ(::mkfifo((repo / "refs" / "pipe").c_str(), 0600), 0);
  std::filesystem::create_symlink("/dev/zero", repo / "refs" / "endless");
  write_text(cache / "outside", elsewhere);
  const std::string outside = "org/tiny@" + (cache / "outside").string();
  for (const std::string& model : {std::string("org/tiny@absolute"), std::string("org/tiny@upward"),
                                   std::string("org/tiny@relative"), std::string("org/tiny@long"),
                                   std::string("org/tiny@pipe"), std::string("org/tiny@endless"),
                                   std::string("org/tiny@"), outside}) {
    const auto error = error_of(model, cache.path().string());
    ASSERT_TRUE(error.has_value()) << model;
    EXPECT_EQ(error->code(), ErrorCode::kModelNotFound) << model;
  }
}

TEST_F(Load, TheSameWeightsLoadUnderEveryPrefix) {
  // A whole tower was left random after a rename elsewhere (Automodel#2431): here it loads or it
  // fails.
  const ModelCopy whole("qwen3_vl_small");
  for (const std::string prefix : {"model.visual.", "visual.", ""}) {
    ModelCopy copy("qwen3_vl_small");
    copy.tensors.clear();
    for (const auto& [name, raw] : whole.tensors) {
      if (name.starts_with("model.visual.")) {
        copy.tensors[prefix + name.substr(13)] = raw;
      }
    }
    const auto error = error_of(copy.save());
    EXPECT_FALSE(error.has_value()) << prefix << ": " << error->describe();
  }
}

}  // namespace
}  // namespace foveal
