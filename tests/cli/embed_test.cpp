// foveal embed, as its users see it: inputs, outputs, failures, exit codes.
#include "cli/program.hpp"

#include "tensor/safetensors.hpp"

#include <cstring>

namespace foveal::cli {
namespace {

using testing::Json;
using testing::Outcome;
using testing::read_all;
using testing::write_all;
namespace fs = std::filesystem;

class Embed : public testing::CliTest {
 protected:
  // 100 pictures in folder "set", 7 of them broken in 7 ways; the arguments that name them all.
  std::vector<std::string> hundred() {
    std::vector<std::string> names;
    for (int i = 0; i < 100; ++i) {
      names.push_back(picture("set/p" + std::to_string(100 + i) + ".png", i));
    }
    const std::string good = read_all(names[0]);
    write_all(names[10], good.substr(0, good.size() / 2));  // cut off
    write_all(names[20], "");                               // empty
    write_all(names[30], "this is a text, whatever its name says\n");
    std::string bomb = good;
    std::memcpy(bomb.data() + 16, "\x00\x0f\x00\x00\x00\x0f\x00\x00",
                8);  // 983040 x 983040 in the header
    write_all(names[40], bomb);
    std::string corrupt = good;
    corrupt[good.size() / 2] =
        static_cast<char>(corrupt[good.size() / 2] ^ 0x55);  // inside the pixels
    write_all(names[50], corrupt);
    fs::remove(names[60]);  // not there
    fs::remove(names[70]);
    fs::create_directory(
        names[70]);  // an empty folder under a picture's name is walked and holds nothing,
    names[70] += "/absent.png";  // so its file is named
    return names;
  }

  Outcome embed(std::vector<std::string> arguments, const testing::RunOptions& options = {}) const {
    arguments.insert(arguments.begin(), {"embed", model()});
    return run(arguments, options);
  }
};

TEST_F(Embed, NinetyThreeOfAHundredComeOutAndSevenAreNamed) {
  std::vector<std::string> arguments = hundred();
  const fs::path output = make("out.safetensors");
  arguments.insert(arguments.end(), {"-o", output.string()});
  const Outcome outcome = embed(arguments);
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  EXPECT_EQ(count(outcome.err, "foveal: error FV-4"), 7U) << outcome.err;
  EXPECT_NE(outcome.err.find("93 pictures embedded, 7 failed"), std::string::npos) << outcome.err;
  const SafetensorsFile file = SafetensorsFile::open(output.string()).value();
  EXPECT_EQ(file.find("pooled")->shape[0], 93);
  const Json errors = Json::parse(file.metadata().at("errors"));
  ASSERT_EQ(errors.size(), 7U);
  std::vector<std::string> names;
  for (const Json& e : errors) {
    names.push_back(e["error"]["name"]);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"ImageTruncated", "ImageEmpty", "ImageFormatUnknown",
                                             "ImageTooManyPixels", "ImageCorrupt",
                                             "ImageUnreadable", "ImageUnreadable"}));
  EXPECT_EQ(errors[2]["index"], 30);
}

TEST_F(Embed, JsonMakesSummaryAndErrorsObjects) {
  const std::string good = picture("a.png", 1);
  const Outcome outcome = embed({good, "absent.png", "--json", "-o", make("out.npz").string()});
  EXPECT_EQ(outcome.code, 1);
  const std::vector<Json> errors = json_lines(outcome.err);
  ASSERT_EQ(errors.size(), 1U) << outcome.err;
  EXPECT_EQ(errors[0]["file"], "absent.png");
  EXPECT_EQ(errors[0]["error"]["id"], "FV-4001");
  const Json summary = Json::parse(outcome.out);
  EXPECT_EQ(summary["pictures"], 1);
  EXPECT_EQ(summary["failures"], 1);
  EXPECT_GT(summary["tokens"].get<int>(), 0);
}

TEST_F(Embed, WithoutOutputPrintsJsonLines) {
  const Outcome outcome = embed({picture("a.png", 1), "absent.png", picture("b.png", 2)});
  EXPECT_EQ(outcome.code, 1);
  const std::vector<Json> lines = json_lines(outcome.out);
  ASSERT_EQ(lines.size(), 3U) << outcome.out;
  EXPECT_TRUE(lines[0]["pooled"].is_array());
  EXPECT_EQ(lines[1]["error"]["name"], "ImageUnreadable");
  EXPECT_EQ(lines[2]["index"], 2);
}

TEST_F(Embed, FolderPatternAndStandardInputNameTheSamePictures) {
  picture("set/b.png", 1);
  picture("set/a/c.PNG", 2);
  picture("set/.hidden/d.png", 3);
  write_all(make("set/notes.txt"), "no picture");
  const std::vector<std::string> want{"set/a/c.PNG", "set/b.png"};
  const auto files = [&](const std::vector<std::string>& inputs, const std::string& in) {
    const Outcome outcome = embed(inputs, {.input = in, .cwd = folder_});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    std::vector<std::string> out;
    for (const Json& line : json_lines(outcome.out)) {
      out.push_back(line["file"]);
    }
    return out;
  };
  EXPECT_EQ(files({"set"}, ""), want);
  EXPECT_EQ(files({"set/**/*.[pP][nN][gG]"}, ""), want);
  EXPECT_EQ(files({"-"}, "set/a/c.PNG\r\n\nset/b.png\n"), want);
}

TEST_F(Embed, OneAloneAndAmongOthersGivesTheSameNumbers) {
  const std::string one = picture("a.png", 1);
  const Json alone = json_lines(embed({one}).out).at(0);
  const Json among = json_lines(embed({picture("b.png", 2), picture("c.png", 3), one}).out).at(2);
  EXPECT_EQ(alone["pooled"], among["pooled"]);
}

TEST_F(Embed, NpyHoldsTheOneOutputAskedFor) {
  const fs::path output = make("out.npy");
  EXPECT_EQ(
      embed({picture("a.png", 1), "--output", "last_hidden_state", "-o", output.string()}).code, 0);
  EXPECT_EQ(read_all(output).substr(1, 5), "NUMPY");
  const Outcome several = embed({picture("a.png", 1), "--output", "all", "-o", output.string()});
  EXPECT_EQ(several.code, 2);
  EXPECT_NE(several.err.find("FV-1801 OptionUnknown"), std::string::npos) << several.err;
}

TEST_F(Embed, EveryOutputComesWithItsSplits) {
  const fs::path output = make("out.safetensors");
  const Outcome outcome =
      embed({picture("a.png", 1), picture("b.png", 2), "--output", "all", "-o", output.string()});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const SafetensorsFile file = SafetensorsFile::open(output.string()).value();
  EXPECT_EQ(file.find("pixel_values")->shape.rank(), 4);
  EXPECT_EQ(file.find("row_splits.hidden_states.0")->shape, (Shape{3}));
  EXPECT_EQ(file.find("last_hidden_state")->shape.rank(), 2);
}

TEST_F(Embed, StopEndsTheRunAtTheFirstFailureAndKeepsWhatIsDone) {
  std::vector<std::string> arguments;
  for (int i = 0; i < 3; ++i) {
    arguments.push_back(picture("p" + std::to_string(i) + ".png", i));
  }
  const fs::path missing = folder_ / "q.png";
  arguments.insert(arguments.end(),
                   {missing.string(), picture("r.png", 9), "-o", make("out.npz").string()});
  std::vector<std::string> stop = arguments;
  stop.insert(stop.end(), {"--on-error", "stop"});
  const Outcome outcome = embed(stop);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_FALSE(fs::exists(folder_ / "out.npz"));
  EXPECT_NE(outcome.err.find("--resume"), std::string::npos) << outcome.err;
  picture("q.png", 5);  // mended
  stop.push_back("--resume");
  const Outcome again = embed(stop);
  EXPECT_EQ(again.code, 0) << again.err;
  const std::string resumed = read_all(folder_ / "out.npz");
  EXPECT_EQ(embed(arguments).code, 0);
  EXPECT_EQ(resumed, read_all(folder_ / "out.npz"));
}

TEST_F(Embed, KilledInTheMiddleAndResumedEqualsAnUnbrokenRun) {
  std::vector<std::string> arguments;
  for (int i = 0; i < 300; ++i) {
    arguments.push_back(picture("set/p" + std::to_string(1000 + i) + ".png", i, 200));
  }
  arguments.insert(arguments.end(), {"--output", "pooled,last_hidden_state", "-o",
                                     make("out.safetensors").string()});
  ASSERT_EQ(embed(arguments).code, 0);
  const std::string want = read_all(folder_ / "out.safetensors");
  fs::remove(folder_ / "out.safetensors");
  arguments.push_back("--resume");
  int kills = 0;
  for (const std::uintmax_t journal_bytes : {3000U, 20000U, 45000U}) {
    const Outcome killed =
        embed(arguments, {.meanwhile = [&](pid_t child) {
                std::error_code absent;
                const auto size = fs::file_size(folder_ / ".out.safetensors.part/journal", absent);
                return !absent && size > journal_bytes && ::kill(child, SIGKILL) == 0;
              }});
    kills += killed.code == 128 + SIGKILL ? 1 : 0;
    ASSERT_FALSE(killed.code == 128 + SIGKILL && fs::exists(folder_ / "out.safetensors"));
  }
  EXPECT_GT(kills, 0) << "no run was slow enough to be killed: the test says nothing";
  const Outcome resumed = embed(arguments);
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_TRUE(read_all(folder_ / "out.safetensors") == want);
  EXPECT_FALSE(fs::exists(folder_ / ".out.safetensors.part"));
}

TEST_F(Embed, InterruptedWritesWhatIsDoneAndCanGoOn) {
  std::vector<std::string> arguments;
  for (int i = 0; i < 300; ++i) {
    arguments.push_back(picture("set/p" + std::to_string(1000 + i) + ".png", i, 200));
  }
  arguments.insert(arguments.end(),
                   {"--batch-tokens", "300", "-o", make("out.safetensors").string()});
  ASSERT_EQ(embed(arguments).code, 0);
  const std::string want = read_all(folder_ / "out.safetensors");
  fs::remove(folder_ / "out.safetensors");
  const Outcome stopped =
      embed(arguments, {.meanwhile = [&](pid_t child) {
              std::error_code absent;
              const auto size = fs::file_size(folder_ / ".out.safetensors.part/journal", absent);
              return !absent && size > 8000 && ::kill(child, SIGINT) == 0;
            }});
  ASSERT_EQ(stopped.code, 130) << stopped.err;
  const SafetensorsFile part =
      SafetensorsFile::open((folder_ / "out.safetensors").string()).value();
  EXPECT_GT(part.find("pooled")->shape[0], 0);
  EXPECT_LT(part.find("pooled")->shape[0], 300);
  EXPECT_NE(stopped.err.find("--resume"), std::string::npos) << stopped.err;
  arguments.push_back("--resume");
  EXPECT_EQ(embed(arguments).code, 0);
  EXPECT_TRUE(read_all(folder_ / "out.safetensors") == want);
}

TEST_F(Embed, FullDiskIsToldAndTheOldOutputStays) {
  const fs::path output = make("out.safetensors");
  write_all(output, "old");
  std::vector<std::string> arguments;
  for (int i = 0; i < 60; ++i) {
    arguments.push_back(picture("p" + std::to_string(i) + ".png", i));
  }
  arguments.insert(arguments.end(), {"--output", "hidden_states", "-o", output.string()});
  const Outcome outcome = embed(arguments, {.file_bytes = 20000});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("FV-5002 OutputUnwritable"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find(output.string() + " cannot be written"), std::string::npos)
      << outcome.err;
  EXPECT_EQ(read_all(output), "old");
}

TEST_F(Embed, WeightsCutOffWhileTheyAreReadAreTold) {
  const fs::path folder = make("m/config.json").parent_path();
  fs::copy(model(), folder);
  const fs::path weights = folder / "model.safetensors";
  const std::string bytes = read_all(weights);
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  constexpr std::uint64_t kBlanks = 100'000'000;  // keeps the reader busy in the mapped file
  const std::uint64_t longer = kBlanks;
  const std::string blanks(static_cast<std::size_t>(kBlanks - header), ' ');
  bool caught = false;  // in time: the program may be too fast for us
  for (int attempt = 0; attempt < 20 && !caught; ++attempt) {
    std::string padded(reinterpret_cast<const char*>(&longer), sizeof longer);
    padded += bytes.substr(sizeof header, static_cast<std::size_t>(header)) + blanks +
              bytes.substr(sizeof header + static_cast<std::size_t>(header));
    write_all(weights, padded);
    const Outcome outcome =
        run({"embed", folder.string(), picture("p.png", 1)}, {.meanwhile = [&](pid_t child) {
              const std::string maps = read_all("/proc/" + std::to_string(child) + "/maps");
              const bool mapped = maps.find(weights.string()) != std::string::npos;
              if (mapped) {
                fs::resize_file(weights, 4096);
              }
              return mapped;
            }});
    caught = outcome.code != 0;
    EXPECT_TRUE(outcome.code == 0 || outcome.code == 3) << outcome.code << outcome.err;
    EXPECT_TRUE(!caught || outcome.err.find("cut off") != std::string::npos) << outcome.err;
  }
  EXPECT_TRUE(caught);
}

TEST_F(Embed, NamesThatSteerATerminalStayOnTheirLine) {
  const std::string odd = make("a\nb\x1B[2J.png").string();
  write_all(odd, "no picture");
  const Outcome outcome = embed({odd, picture("p.png", 1)});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.err.find('\x1B'), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("a\\nb\\x1b[2J.png"), std::string::npos) << outcome.err;
  EXPECT_EQ(json_lines(outcome.out).at(0)["file"], odd);
}

TEST_F(Embed, StarsThatFollowEachOtherWalkAFolderOnce) {
  std::string deep;
  for (int i = 0; i < 60; ++i) {
    deep += "d/";
  }
  const std::string name = picture(deep + "p.png", 1);
  const Outcome outcome = embed({(folder_ / "**/**/**/**/**/**/p.png").string()});
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(json_lines(outcome.out).at(0)["file"], name);
}

TEST_F(Embed, ResumeWithOtherSettingsIsRefused) {
  const std::string a = picture("a.png", 1);
  const std::vector<std::string> arguments{a,      "absent.png", "--on-error",
                                           "stop", "-o",         make("out.npz").string()};
  ASSERT_EQ(embed(arguments).code, 1);
  std::vector<std::string> other = arguments;
  other.insert(other.end(), {"--resume", "--normalize"});
  const Outcome outcome = embed(other);
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("FV-5003 ResumeMismatch"), std::string::npos) << outcome.err;
}

TEST_F(Embed, EmptyInputsAreUsageErrors) {
  fs::create_directory(folder_ / "nothing");
  for (const auto& inputs : std::vector<std::vector<std::string>>{
           {}, {(folder_ / "nothing").string()}, {"-"}, {(folder_ / "*.none").string()}}) {
    const Outcome outcome = embed(inputs);
    EXPECT_EQ(outcome.code, 2);
    EXPECT_NE(outcome.err.find("FV-1802 InputEmpty"), std::string::npos) << outcome.err;
  }
}

TEST_F(Embed, AllInputsFailedIsExitCodeOne) {
  const Outcome outcome = embed({"absent.png", "-o", make("out.npz").string()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_TRUE(fs::exists(folder_ / "out.npz"));
}

TEST_F(Embed, MissingModelIsExitCodeThreeAndDeviceFour) {
  const std::string a = picture("a.png", 1);
  EXPECT_EQ(run({"embed", "no/such-model", a}).code, 3);
  EXPECT_EQ(embed({a, "--device", "cuda"}).code, 4);
  EXPECT_EQ(embed({a, "--backend", "nonsense"}).code, 4);
}

TEST_F(Embed, WrongWordsAreUsageErrorsThatNameTheRightOnes) {
  const std::string a = picture("a.png", 1);
  for (const auto& [flag, value, word] :
       std::vector<std::array<std::string, 3>>{{"--dtype", "fp32", "bf16"},
                                               {"--resize", "pil", "pillow"},
                                               {"--background", "white", "FFFFFF"},
                                               {"--on-error", "go", "skip"},
                                               {"--output", "poled", "pooled"},
                                               {"-o", "x.parquet", ".npz"}}) {
    const Outcome outcome = embed({a, flag, value});
    EXPECT_EQ(outcome.code, 2) << flag << outcome.err;
    EXPECT_NE(outcome.err.find("FV-1801"), std::string::npos) << outcome.err;
    EXPECT_NE(outcome.err.find(word), std::string::npos) << outcome.err;
  }
  EXPECT_EQ(embed({a, "--batch-tokens", "0"}).code, 2);
  EXPECT_EQ(embed({a, "--one-sample"}).code, 2);
  EXPECT_EQ(embed({a, "--resume"}).code, 2);
}

TEST_F(Embed, EnvironmentTwinsSetFlagsAndTheCommandLineWins) {
  const std::string a = picture("a.png", 1);
  const fs::path output = make("env.npz");
  EXPECT_EQ(embed({a}, {.set = {"FOVEAL_OUT=" + output.string(), "FOVEAL_JSON=1"}}).code, 0);
  EXPECT_TRUE(fs::exists(output));
  EXPECT_EQ(embed({a}, {.set = {"FOVEAL_BATCH_TOKENS=0"}}).code, 2);
  EXPECT_EQ(embed({a}, {.set = {"FOVEAL_DTYPE=nonsense"}}).code, 2);
  EXPECT_EQ(embed({a, "--dtype", "f32"}, {.set = {"FOVEAL_DTYPE=nonsense"}}).code, 0);
}

TEST_F(Embed, UnwritableOutputIsToldBeforeTheWork) {
  const Outcome outcome =
      embed({picture("a.png", 1), "-o", (folder_ / "no/where/out.npz").string()});
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("FV-5002"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace foveal::cli
