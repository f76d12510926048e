// A run that ends at any byte, and goes on, must give the file of a run that never ended.
#include "io/spool.hpp"

#include "io/error_json.hpp"
#include "io/run_files.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <random>

namespace foveal::io {
namespace {

using testing::FakeRun;
using testing::read_all;
using testing::TempFolder;
using testing::write_all;
namespace fs = std::filesystem;

void go_on_and_finish(const FakeRun& run, const fs::path& output) {
  Spool spool = run.open(output, SpoolMode::kResume).value();
  for (auto i = spool.done(); i < static_cast<std::int64_t>(run.pictures.size()); ++i) {
    run.add(spool, i).value();
  }
  write_output(spool, OutputFormat::kSafetensors, run.metadata).value();
  spool.remove();
}

TEST(Spool, ResumesToTheSameBytesWhereverTheJournalWasCut) {
  const TempFolder folder;
  const FakeRun run(folder, 5);
  const fs::path output = folder / "out.safetensors";
  const std::string want = run.unbroken(output, OutputFormat::kSafetensors);
  {
    Spool spool = run.open(output, SpoolMode::kFresh).value();
    for (int i = 0; i < 4; ++i) {
      run.add(spool, i).value();
    }
  }
  const fs::path spooled = Spool::folder_for(output);
  const fs::path copy = folder / "copy";
  fs::copy(spooled, copy);
  const std::string journal = read_all(copy / "journal");
  for (std::size_t cut = 0; cut <= journal.size(); cut += cut + 40 < journal.size() ? 7 : 1) {
    fs::remove_all(spooled);
    fs::copy(copy, spooled);
    fs::resize_file(spooled / "journal", cut);
    fs::remove(output);
    go_on_and_finish(run, output);
    ASSERT_EQ(read_all(output), want) << "journal cut at byte " << cut;
    ASSERT_FALSE(fs::exists(spooled));
  }
}

TEST(Spool, ResumesToTheSameBytesWhereverRowsWereCutOrDamaged) {
  const TempFolder folder;
  const FakeRun run(folder, 6);
  const fs::path output = folder / "out.safetensors";
  const std::string want = run.unbroken(output, OutputFormat::kSafetensors);
  {
    Spool spool = run.open(output, SpoolMode::kFresh).value();
    for (int i = 0; i < 5; ++i) {
      run.add(spool, i).value();
    }
  }
  const fs::path spooled = Spool::folder_for(output);
  const fs::path copy = folder / "copy";
  fs::copy(spooled, copy);
  std::mt19937 random(7);
  for (int trial = 0; trial < 60; ++trial) {
    fs::remove_all(spooled);
    fs::copy(copy, spooled);
    const fs::path column = spooled / ("column" + std::to_string(trial % 3));
    std::string rows = read_all(column);
    const std::size_t at = random() % rows.size();
    if (trial % 2 == 0) {
      rows.resize(at);
    } else {
      rows[at] = static_cast<char>(rows[at] ^ 1);
    }
    write_all(column, rows);
    fs::remove(output);
    go_on_and_finish(run, output);
    ASSERT_EQ(read_all(output), want)
        << "seed 7, trial " << trial << ", byte " << at << " of " << column;
  }
}

TEST(Spool, BeginsAnewWithoutResume) {
  const TempFolder folder;
  const FakeRun run(folder, 4);
  const fs::path output = folder / "out.safetensors";
  {
    Spool spool = run.open(output, SpoolMode::kFresh).value();
    run.add(spool, 0).value();
  }
  const Spool spool = run.open(output, SpoolMode::kFresh).value();
  EXPECT_EQ(spool.done(), 0);
}

TEST(Spool, RefusesToResumeWithOtherSettings) {
  const TempFolder folder;
  FakeRun run(folder, 4);
  const fs::path output = folder / "out.safetensors";
  {
    Spool spool = run.open(output, SpoolMode::kFresh).value();
    run.add(spool, 0).value();
  }
  run.settings[0].second = "pooled";
  const auto spool = run.open(output, SpoolMode::kResume);
  ASSERT_FALSE(spool);
  EXPECT_EQ(spool.error().code(), ErrorCode::kResumeMismatch);
  EXPECT_EQ(spool.error().field("what")->text(), "the output");
  EXPECT_EQ(spool.error().field("got")->text(), "pooled,last_hidden_state");
}

TEST(Spool, RefusesToResumeOverAPictureThatChanged) {
  const TempFolder folder;
  const FakeRun run(folder, 4);
  const fs::path output = folder / "out.safetensors";
  {
    Spool spool = run.open(output, SpoolMode::kFresh).value();
    run.add(spool, 0).value();
    run.add(spool, 1).value();
  }
  write_all(run.pictures[1], "another picture altogether");
  const auto spool = run.open(output, SpoolMode::kResume);
  ASSERT_FALSE(spool);
  EXPECT_EQ(spool.error().code(), ErrorCode::kResumeMismatch);
  EXPECT_NE(spool.error().field("what")->text().find("picture1.png"), std::string::npos);
}

TEST(Spool, RefusesASecondWriterOfTheSameOutput) {
  const TempFolder folder;
  const FakeRun run(folder, 4);
  const Spool first = run.open(folder / "out.npz", SpoolMode::kFresh).value();
  const auto second = run.open(folder / "out.npz", SpoolMode::kFresh);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), ErrorCode::kOutputUnwritable);
  EXPECT_NE(second.error().message().find("another process"), std::string::npos);
}

TEST(Spool, NamesTheOutputAndTheReasonWhereTheFolderIsMissing) {
  const TempFolder folder;
  const FakeRun run(folder, 1);
  const fs::path output = folder / "nowhere/out.npz";
  const auto spool = run.open(output, SpoolMode::kFresh);
  ASSERT_FALSE(spool);
  EXPECT_EQ(spool.error().code(), ErrorCode::kOutputUnwritable);
  EXPECT_EQ(spool.error().field("file")->text(), output.string());
  EXPECT_EQ(spool.error().field("reason")->text(), "No such file or directory");
}

TEST(Spool, RefusesAnOutputThatIsNoRegularFile) {
  const auto target = output_target("/dev/full");
  ASSERT_FALSE(target);
  EXPECT_EQ(target.error().code(), ErrorCode::kOutputUnwritable);
}

TEST(Spool, RefusesRowsThatAreNoRegularFile) {
  const TempFolder folder;
  const FakeRun run(folder, 5);
  const fs::path output = folder / "out.safetensors";
  const fs::path spooled = Spool::folder_for(output);
  for (const bool pipe : {true, false}) {
    {
      Spool spool = run.open(output, SpoolMode::kFresh).value();
      run.add(spool, 0).value();
    }
    fs::remove(spooled / "column0");
    if (pipe) {  // opening it to read would wait for a writer
      ASSERT_EQ(::mkfifo((spooled / "column0").c_str(), 0600), 0);
    } else {  // rows written to it would come back as zeros
      fs::create_symlink("/dev/zero", spooled / "column0");
    }
    const auto resumed = run.open(output, SpoolMode::kResume);
    ASSERT_FALSE(resumed);
    EXPECT_EQ(resumed.error().code(), ErrorCode::kOutputUnwritable);
    EXPECT_EQ(resumed.error().field("reason")->text(), "it is not a regular file");
  }
}

// A journal whose checksums hold and whose content is nonsense.
TEST(Spool, BeginsAnewWhereTheJournalSaysNothingUseful) {
  const TempFolder folder;
  const FakeRun run(folder, 5);
  const fs::path output = folder / "out.safetensors";
  const std::string want = run.unbroken(output, OutputFormat::kSafetensors);
  {
    Spool spool = run.open(output, SpoolMode::kFresh).value();
    run.add(spool, 0).value();
  }
  const fs::path spooled = Spool::folder_for(output);
  const fs::path copy = folder / "copy";
  fs::copy(spooled, copy);
  const std::string journal = read_all(copy / "journal");
  const std::size_t second = journal.find('\n') + 1;
  const auto line = [](const std::string& json) {
    std::array<char, 12> crc{};
    std::snprintf(crc.data(), crc.size(), "%08x ", crc32_of(std::as_bytes(std::span(json))));
    return crc.data() + json + "\n";
  };
  const auto resumes = [&](const std::string& text, const std::string& what) {
    fs::remove_all(spooled);
    fs::copy(copy, spooled);
    write_all(spooled / "journal", text);
    fs::remove(output);
    go_on_and_finish(run, output);
    EXPECT_TRUE(read_all(output) == want) << what;
  };
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  for (const std::string version : {"null", "\"x\"", "[]", "2"}) {
    const std::string json = "{\"foveal_journal\":" + version + ",\"settings\":[]}";
    resumes(line(json) + journal.substr(second), json);
  }
  resumes(line("{\"a\":" + deep + ",\"b\":1,\"c\":1}"), "deep settings");
  const Json record = Json::parse(journal.substr(second + 9));
  for (const std::string shape :
       {"[-1,-3]", "[4611686018427387904,4611686018427387904]", "[9223372036854775807]", "5"}) {
    Json bad = record;
    bad["blocks"][0]["shape"] = Json::parse(shape);
    resumes(journal.substr(0, second) + line(bad.dump()), shape);
  }
  Json bad = record;
  bad["error"] = "no JSON";
  resumes(journal.substr(0, second) + line(bad.dump()), "error");
}

TEST(Spool, LeavesForeignFilesInItsFolderAlone) {
  const TempFolder folder;
  const FakeRun run(folder, 1);
  const fs::path output = folder / "out.npz";
  Spool spool = run.open(output, SpoolMode::kFresh).value();
  write_all(spool.folder() / "notes.txt", "mine");
  spool.remove();
  EXPECT_EQ(read_all(spool.folder() / "notes.txt"), "mine");
}

// A child that may write files of `limit` bytes at most, as on a disk that becomes full. Exit code:
// 0 where the run failed with OutputUnwritable and the old output is intact.
int run_with_full_disk(const FakeRun& run, const fs::path& output, rlim_t limit) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit cap{limit, limit};
    ::setrlimit(RLIMIT_FSIZE, &cap);
    const auto attempt = [&]() -> Status {
      FOVEAL_TRY(Spool spool, run.open(output, SpoolMode::kFresh));
      for (std::size_t i = 0; i < run.pictures.size(); ++i) {
        FOVEAL_TRY_STATUS(run.add(spool, static_cast<std::int64_t>(i)));
      }
      return write_output(spool, OutputFormat::kSafetensors, run.metadata);
    };
    const Status status = attempt();
    const bool told = !status && status.error().code() == ErrorCode::kOutputUnwritable &&
                      status.error().field("file")->text() == output.string() &&
                      status.error().field("reason")->text() == "File too large";
    ::_exit(told && read_all(output) == "old" ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 255;
}

TEST(Spool, FullDiskIsToldAndLeavesTheOldOutputIntact) {
  const TempFolder folder;
  const FakeRun run(folder, 40);
  const fs::path output = folder / "out.safetensors";
  write_all(output, "old");
  // While the journal is begun, while rows come, while the file is assembled (it is larger than any
  // spool file).
  const std::string want = run.unbroken(folder / "whole.safetensors", OutputFormat::kSafetensors);
  for (const rlim_t limit : {rlim_t{20}, rlim_t{2000}, static_cast<rlim_t>(want.size() - 1)}) {
    EXPECT_EQ(run_with_full_disk(run, output, limit), 0) << "limit " << limit;
  }
  // With room again, the kept spool leads to the whole file.
  go_on_and_finish(run, output);
  EXPECT_EQ(read_all(output), want);
}

}  // namespace
}  // namespace foveal::io
