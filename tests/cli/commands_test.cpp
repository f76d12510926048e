// The other sub-commands: search, inspect, attend, backends, explain, doctor, and the frame around
// them.
#include "cli/program.hpp"
#include "tensor/safetensors.hpp"
#include "tensor/tensor.hpp"

#include <cmath>

namespace foveal::cli {
namespace {

using testing::Json;
using testing::Outcome;
using testing::read_all;
using testing::write_all;
namespace fs = std::filesystem;

std::vector<float> values_of(const SafetensorsFile& file, const char* tensor) {
  const ConstTensorView view = file.view(*file.find(tensor));
  std::vector<float> out(static_cast<std::size_t>(view.numel()));
  convert_to_f32(view.data, view.dtype, out.data(), view.numel());
  return out;
}

class Commands : public testing::CliTest {
 protected:
  std::string index(const std::string& name, const std::vector<std::string>& flags = {}) {
    std::vector<std::string> arguments{"embed", model(), "-o", make(name).string()};
    for (int i = 0; i < 6; ++i) {
      arguments.push_back(picture("set/p" + std::to_string(i) + ".png", 10 * i));
    }
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    return (folder_ / name).string();
  }
};

TEST_F(Commands, SearchFindsThePictureItselfFirstInEveryFormat) {
  for (const std::string name : {"i.safetensors", "i.npz", "i.npy"}) {
    const std::string query = picture("set/p3.png", 30);
    const Outcome outcome = run({"search", index(name), query, "-k", "3", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const Json json = Json::parse(outcome.out);
    ASSERT_EQ(json["results"].size(), 3U);
    EXPECT_EQ(json["results"][0]["file"], query);
    EXPECT_NEAR(json["results"][0]["score"].get<double>(), 1.0, 1e-9);
  }
}

TEST_F(Commands, SearchEmbedsItsQueryAsTheIndexWas) {
  const std::string at =
      index("i.safetensors", {"--layer", "1", "--normalize", "--background", "102030"});
  const Outcome outcome = run({"search", at, picture("set/p2.png", 20)});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out.substr(0, 4), "rank");
  EXPECT_NE(outcome.out.find("1.0000"), std::string::npos) << outcome.out;
}

TEST_F(Commands, SearchWritesAContactSheet) {
  const fs::path sheet = make("sheet.png");
  const Outcome outcome =
      run({"search", index("i.npz"), picture("q.png", 77), "--sheet", sheet.string()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto bytes = read_image_file(sheet, {}).value();
  const Image image = decode_image(bytes, "sheet", {}).value();
  EXPECT_GT(image.width, 1000);
}

TEST_F(Commands, SearchRefusesAnIndexOfAnotherModel) {
  const Outcome outcome =
      run({"search", index("i.npz"), picture("q.png", 7), "--model", model("siglip_vision")});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("FV-1701 IndexMismatch"), std::string::npos) << outcome.err;
}

TEST_F(Commands, SearchByWordsIsRefusedById) {
  const Outcome outcome = run({"search", index("i.npz"), "--text", "a cat"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("FV-2011 FeatureNotBuilt"), std::string::npos) << outcome.err;
}

TEST_F(Commands, SearchOfWhatIsNoIndexIsTold) {
  write_all(make("x.npz"), "no zip");
  const Outcome outcome = run({"search", (folder_ / "x.npz").string(), picture("q.png", 7)});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("FV-1702 IndexUnreadable"), std::string::npos) << outcome.err;
}

TEST_F(Commands, InspectTellsOfModelPictureAndBoth) {
  const Json m = Json::parse(run({"inspect", model(), "--json"}).out);
  EXPECT_EQ(m["family"], "vit");
  EXPECT_GT(m["tensors"].size(), 10U);
  const std::string a = picture("a.png", 1, 50);
  const Json p = Json::parse(run({"inspect", a, "--json"}).out);
  EXPECT_EQ(p["width"], 51);
  EXPECT_EQ(p["format"], "PNG");
  const Json both = Json::parse(run({"inspect", model("qwen3_vl_small"), a, "--json"}).out);
  EXPECT_EQ(both["grid"].size(), 3U);
  EXPECT_GT(both["tokens"].get<int>(), 0);
  EXPECT_EQ(run({"inspect", model()}).code, 0);
  EXPECT_EQ(run({"inspect", (folder_ / "absent").string()}).code, 3);
  write_all(make("broken.png"), "text");
  EXPECT_EQ(run({"inspect", (folder_ / "broken.png").string()}).code, 1);
}

TEST_F(Commands, AttendGivesTheOutputsOfTheFixtures) {
  for (const std::string name : {"ragged_d72", "sinks_gqa_sliding", "softcap", "bias",
                                 "causal_cross", "v_dim", "no_keys", "nothing"}) {
    const std::string fixture =
        FOVEAL_SOURCE_DIR "/tests/golden/attention/" + name + ".safetensors";
    const std::string output = make(name + ".safetensors").string();
    const Outcome outcome =
        run({"attend", fixture, "-o", output, "--backend", "reference", "--json"});
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(Json::parse(outcome.out)["backend"], "reference");
    const SafetensorsFile want = SafetensorsFile::open(fixture).value();
    const SafetensorsFile got = SafetensorsFile::open(output).value();
    for (const char* tensor : {"out", "lse"}) {
      ASSERT_EQ(got.find(tensor)->shape, want.find(tensor)->shape) << name;
      const std::vector<float> a = values_of(got, tensor);
      const std::vector<float> b = values_of(want, tensor);
      for (std::size_t i = 0; i < a.size(); ++i) {
        // Both come from double; the scale is a float here: 3e-8 of logits of about 10.
        ASSERT_TRUE(a[i] == b[i] || std::fabs(a[i] - b[i]) <= 0x1p-22F * std::fabs(b[i]) + 1e-6F)
            << name << " " << tensor << "[" << i << "] is " << a[i] << ", expected " << b[i];
      }
    }
  }
}

TEST_F(Commands, AttendOfABrokenFileIsExitCodeOne) {
  write_all(make("x.safetensors"), "short");
  const Outcome outcome =
      run({"attend", (folder_ / "x.safetensors").string(), "-o", make("y.safetensors").string()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("FV-3009"), std::string::npos) << outcome.err;
}

TEST_F(Commands, BackendsListReasonsAndReferenceServes) {
  const Json json = Json::parse(run({"backends", "--json"}).out);
  EXPECT_EQ(json["backends"].back()["name"], "reference");
  EXPECT_EQ(json["backends"].back()["available"], true);
  EXPECT_EQ(run({"backends"}).code, 0);
}

TEST_F(Commands, ExplainFindsByIdAndMessageAndAdmitsIgnorance) {
  EXPECT_NE(run({"explain", "FV-1101"}).out.find("MaxSeqlenMissing"), std::string::npos);
  const Outcome pasted = run({"explain", "--json",
                              "RuntimeError: max_seqlen should be prepared for vision "
                              "flashinfer_cudnn attention backend"});
  EXPECT_EQ(Json::parse(pasted.out)[0]["id"], "FV-1101");
  const Outcome nothing = run({"explain", "--json", "zzz"});
  EXPECT_EQ(nothing.out, "[]\n");
  EXPECT_EQ(nothing.code, 1);
  EXPECT_EQ(run({"explain", "zzz"}).code, 1);
  EXPECT_EQ(
      Json::parse(run({"explain", "-", "--json"}, {.input = "log\nFV-1102\n"}).out)[0]["name"],
      "MaxSeqlenTooSmall");
}

TEST_F(Commands, DoctorListsWhatIsThere) {
  const Outcome outcome = run({"doctor", "--json"});
  const Json json = Json::parse(outcome.out);
  EXPECT_TRUE(json["findings"].is_array());
  EXPECT_EQ(outcome.code, json["ready"].get<bool>() ? 0 : 1);
  EXPECT_EQ(run({"doctor"}).err, "");
}

TEST_F(Commands, VersionHasCompilerAndLibraries) {
  const Json json = Json::parse(run({"--version", "--json"}).out);
  EXPECT_EQ(json["version"], "0.1.0");
  EXPECT_TRUE(json["libraries"].contains("libpng"));
  EXPECT_EQ(run({"--version"}).out.substr(0, 7), "foveal ");
}

TEST_F(Commands, WrongUsageIsExitCodeTwoWithAnId) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"embed"}, {"embed", "m", "--nonsense"}, {"nonsense"}, {"search"}}) {
    const Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find("error FV-1803 UsageInvalid"), std::string::npos) << outcome.err;
  }
  const Outcome loud = run({"--log-level", "loud", "backends"});
  EXPECT_EQ(loud.code, 2);
  EXPECT_NE(loud.err.find("error FV-1801 OptionUnknown"), std::string::npos) << loud.err;
  for (const auto& arguments : std::vector<std::vector<std::string>>{
           {"attend", "absent", "-o", (folder_ / "x").string(), "--threads", "1025"},
           {"inspect", model(), "--threads", "-1"}}) {
    const Outcome threads = run(arguments);
    EXPECT_EQ(threads.code, 2);
    EXPECT_NE(threads.err.find("0 (as many as this process may use) to 1024"), std::string::npos)
        << threads.err;
  }
  EXPECT_EQ(run({"inspect", model(), "--layer", "1"}).code, 2) << "a flag without effect";
  EXPECT_EQ(run({}).code, 2);
  EXPECT_EQ(run({"--help"}).code, 0);
  EXPECT_NE(run({"embed", "--help"}).out.find("FOVEAL_BATCH_TOKENS"), std::string::npos);
}

TEST_F(Commands, LogFormatJsonMakesErrorsObjects) {
  const Outcome outcome = run({"--log-format", "json", "inspect", (folder_ / "absent").string()});
  const std::vector<Json> lines = json_lines(outcome.err);
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0]["error"]["id"], "FV-3001");
}

TEST_F(Commands, FullStandardOutputIsTold) {
  // Through a shell, because the harness reads stdout from a file.
  const int status = std::system(("sh -c '\"" FOVEAL_PROGRAM "\" explain FV-1101 > /dev/full 2> " +
                                  (folder_ / "err").string() + "'")
                                     .c_str());
  EXPECT_EQ(WEXITSTATUS(status), 1);
  EXPECT_NE(read_all(folder_ / "err").find("FV-5002"), std::string::npos);
}

}  // namespace
}  // namespace foveal::cli
