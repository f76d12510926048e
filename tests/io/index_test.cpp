// The index that search reads: what embed wrote in each form, and nothing that merely looks like
// it.
#include "io/index.hpp"

#include "io/run_files.hpp"

#include <sys/stat.h>

namespace foveal::io {
namespace {

using testing::FakeRun;
using testing::read_all;
using testing::TempFolder;
using testing::write_all;
namespace fs = std::filesystem;

// Three pictures with two-dimensional vectors along x, along the diagonal, along y; the last two
// rows equal.
fs::path write_index(const TempFolder& folder, const std::string& name, OutputFormat format) {
  FakeRun run(folder, 4);
  Spool spool = run.open(folder / name, SpoolMode::kFresh).value();
  const std::vector<std::vector<float>> vectors{{2, 0}, {1, 1}, {0, 3}, {0, 3}};
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const std::vector<std::int64_t> shape{1, 2};
    const std::vector<OutputBlock> blocks{{.name = "pooled", .shape = shape, .values = vectors[i]}};
    spool.append({.index = static_cast<std::int64_t>(i), .file = run.pictures[i], .blocks = blocks})
        .value();
  }
  write_output(spool, format, run.metadata).value();
  spool.remove();
  return folder / name;
}

TEST(VectorIndex, ReadsEveryFormThatEmbedWrites) {
  const TempFolder folder;
  for (const auto& [name, format] :
       {std::pair("a.safetensors", OutputFormat::kSafetensors),
        std::pair("a.npz", OutputFormat::kNpz), std::pair("a.npy", OutputFormat::kNpy)}) {
    const VectorIndex index = VectorIndex::open(write_index(folder, name, format)).value();
    EXPECT_EQ(index.rows(), 4) << name;
    EXPECT_EQ(index.dim(), 2) << name;
    EXPECT_TRUE(index.files()[3].ends_with("picture3.png")) << name;
    EXPECT_EQ(index.embed(), R"({"model":"m"})") << name;
  }
}

TEST(VectorIndex, FindsByCosineAndBreaksTiesByRow) {
  const TempFolder folder;
  const VectorIndex index =
      VectorIndex::open(write_index(folder, "a.safetensors", OutputFormat::kSafetensors)).value();
  const std::vector<float> query{0, 0.5F};
  const std::vector<Hit> hits = index.nearest(query, 3).value();
  ASSERT_EQ(hits.size(), 3U);
  EXPECT_EQ(hits[0].row, 2);
  EXPECT_EQ(hits[1].row, 3);
  EXPECT_EQ(hits[2].row, 1);
  EXPECT_DOUBLE_EQ(hits[0].score, 1.0);
  EXPECT_NEAR(hits[2].score, 0.70710678, 1e-8);
  EXPECT_EQ(index.nearest(query, 100).value().size(), 4U);
}

TEST(VectorIndex, RefusesAQueryOfOtherDimensions) {
  const TempFolder folder;
  const VectorIndex index =
      VectorIndex::open(write_index(folder, "a.npz", OutputFormat::kNpz)).value();
  const std::vector<float> query{1, 2, 3};
  const auto hits = index.nearest(query, 1);
  ASSERT_FALSE(hits);
  EXPECT_EQ(hits.error().code(), ErrorCode::kIndexMismatch);
}

TEST(VectorIndex, RefusesOtherContentAndNamesWhatDiffers) {
  const TempFolder folder;
  const VectorIndex index =
      VectorIndex::open(write_index(folder, "a.npz", OutputFormat::kNpz)).value();
  std::vector<std::string> notes;
  const Status status =
      index.comparable_with(R"({"content":{"layer":2},"content_hash":"ffff"})", "the query", notes);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code(), ErrorCode::kIndexMismatch);
  EXPECT_NE(status.error().message().find("layer 1"), std::string::npos)
      << status.error().message();
  EXPECT_NE(status.error().message().find("layer 2"), std::string::npos)
      << status.error().message();
}

TEST(VectorIndex, NotesOtherWaysOfComputing) {
  const TempFolder folder;
  const fs::path path = write_index(folder, "a.npy", OutputFormat::kNpy);
  Json json = Json::parse(read_all(path.string() + ".json"));
  json["fingerprint"] = R"({"content":{},"content_hash":"aa","notes":{"dtype":"f32"}})";
  write_all(path.string() + ".json", json.dump());
  const VectorIndex index = VectorIndex::open(path).value();
  std::vector<std::string> notes;
  ASSERT_TRUE(index.comparable_with(
      R"({"content":{},"content_hash":"aa","notes":{"dtype":"bf16"}})", "q", notes));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NE(notes[0].find("bf16"), std::string::npos);
}

TEST(VectorIndex, RefusesAnArrayWhoseNamesBelongToAnother) {
  const TempFolder folder;
  const fs::path path = write_index(folder, "a.npy", OutputFormat::kNpy);
  std::string bytes = read_all(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_all(path, bytes);
  const auto index = VectorIndex::open(path);
  ASSERT_FALSE(index);
  EXPECT_EQ(index.error().code(), ErrorCode::kIndexUnreadable);
}

TEST(VectorIndex, RefusesMetadataOfOtherTypesAndBottomlessNesting) {
  const TempFolder folder;
  const fs::path path = write_index(folder, "a.npy", OutputFormat::kNpy);
  const std::string sidecar = path.string() + ".json";
  const Json good = Json::parse(read_all(sidecar));
  const auto code = [&](const std::string& text) {
    write_all(sidecar, text);
    const auto index = VectorIndex::open(path);
    return index ? ErrorCode::kInternal : index.error().code();
  };
  for (const char* key : {"files", "output", "crc32"}) {
    Json bad = good;
    bad[key] = Json::object();
    EXPECT_EQ(code(bad.dump()), ErrorCode::kIndexUnreadable) << key;
  }
  Json odd = good;  // nothing needs these to find the nearest rows
  odd["fingerprint"] = odd["embed"] = 5;
  write_all(sidecar, odd.dump());
  EXPECT_EQ(VectorIndex::open(path).value().fingerprint(), "");
  constexpr std::size_t kLevels = 200'000;
  const std::string deep = std::string(kLevels, '[') + std::string(kLevels, ']');
  std::string text = good.dump();
  text.insert(text.size() - 1, ",\"files\":" + deep);
  EXPECT_EQ(code(text), ErrorCode::kIndexUnreadable);
}

TEST(VectorIndex, RefusesCutAndForeignFilesById) {
  const TempFolder folder;
  for (const auto& [name, format] :
       {std::pair("a.safetensors", OutputFormat::kSafetensors),
        std::pair("a.npz", OutputFormat::kNpz), std::pair("a.npy", OutputFormat::kNpy)}) {
    const fs::path path = write_index(folder, name, format);
    const std::string bytes = read_all(path);
    for (std::size_t size = 0; size < bytes.size(); size += 3) {
      write_all(path, bytes.substr(0, size));
      const auto index = VectorIndex::open(path);
      ASSERT_FALSE(index) << name << " cut at " << size;
      EXPECT_EQ(index.error().code(), ErrorCode::kIndexUnreadable);
    }
  }
  write_all(folder / "a.txt", "no index");
  EXPECT_FALSE(VectorIndex::open(folder / "a.txt"));
  EXPECT_FALSE(VectorIndex::open(folder / "absent.npz"));
}

TEST(VectorIndex, DoesNotWaitForTheWriterOfANamedPipe) {
  const TempFolder folder;
  const fs::path path = write_index(folder, "a.npy", OutputFormat::kNpy);
  fs::remove(path.string() + ".json");
  ASSERT_EQ(::mkfifo((path.string() + ".json").c_str(), 0600), 0);
  EXPECT_EQ(VectorIndex::open(path).error().code(), ErrorCode::kIndexUnreadable);
  for (const char* name : {"b.safetensors", "b.npz", "b.npy"}) {
    ASSERT_EQ(::mkfifo((folder / name).c_str(), 0600), 0);
    EXPECT_EQ(VectorIndex::open(folder / name).error().code(), ErrorCode::kIndexUnreadable) << name;
  }
}

}  // namespace
}  // namespace foveal::io
