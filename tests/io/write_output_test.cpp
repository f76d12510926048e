// The four forms of an output, read back by independent means: offsets and names are part of the
// contract.
#include "io/write_output.hpp"

#include "io/npy.hpp"
#include "io/run_files.hpp"
#include "io/zip.hpp"
#include "tensor/safetensors.hpp"

#include <cstring>
#include <limits>
#include <sstream>

namespace foveal::io {
namespace {

using testing::FakeRun;
using testing::read_all;
using testing::TempFolder;
namespace fs = std::filesystem;

template <class T>
std::vector<T> values_of(const SafetensorsFile& file, const std::string& name) {
  const SafetensorsEntry* entry = file.find(name);
  if (entry == nullptr) {
    return {};
  }
  std::vector<T> out(static_cast<std::size_t>(entry->shape.numel()));
  std::memcpy(out.data(), file.view(*entry).data, out.size() * sizeof(T));
  return out;
}

TEST(WriteOutput, SafetensorsHoldRowsSplitsFilesErrorsAndFingerprint) {
  const TempFolder folder;
  const FakeRun run(folder, 4);
  const fs::path output = folder / "out.safetensors";
  run.unbroken(output, OutputFormat::kSafetensors);
  const SafetensorsFile file = SafetensorsFile::open(output.string()).value();
  EXPECT_EQ(file.find("pooled")->shape, (Shape{3, 3}));
  EXPECT_EQ(values_of<float>(file, "pooled"),
            (std::vector<float>{0, .25F, .5F, 1, 1.25F, 1.5F, 3, 3.25F, 3.5F}));
  EXPECT_EQ(file.find("row_splits.pooled"), nullptr) << "one row a picture needs none";
  EXPECT_EQ(file.find("last_hidden_state")->shape, (Shape{1 + 2 + 4, 2}));
  EXPECT_EQ(values_of<std::int64_t>(file, "row_splits.last_hidden_state"),
            (std::vector<std::int64_t>{0, 1, 3, 7}));
  EXPECT_EQ(values_of<std::int64_t>(file, "grid_thw"),
            (std::vector<std::int64_t>{1, 0, 0, 1, 1, 2, 1, 3, 6}));
  const Json files = Json::parse(file.metadata().at("files"));
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[2], run.pictures[3]) << "the failed picture takes no row";
  const Json errors = Json::parse(file.metadata().at("errors"));
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0]["index"], 2);
  EXPECT_EQ(errors[0]["error"]["id"], "FV-4001");
  EXPECT_EQ(file.metadata().at("fingerprint"), run.metadata.fingerprint);
}

TEST(WriteOutput, SafetensorsDataAreAlignedAndWithoutGaps) {
  const TempFolder folder;
  const FakeRun run(folder, 6);
  const std::string bytes = run.unbroken(folder / "out.safetensors", OutputFormat::kSafetensors);
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  EXPECT_EQ(header % 8, 0U);
  const Json json = Json::parse(bytes.substr(8, header));
  std::int64_t at = 0;
  for (const auto& [name, entry] : json.items()) {
    if (name == "__metadata__") {
      continue;
    }
    EXPECT_EQ(entry["data_offsets"][0], at) << name;
    at = entry["data_offsets"][1].get<std::int64_t>();
    EXPECT_EQ(entry["data_offsets"][0].get<std::int64_t>() % (entry["dtype"] == "I64" ? 8 : 4), 0)
        << name;
  }
  EXPECT_EQ(static_cast<std::uint64_t>(at), bytes.size() - 8 - header);
}

TEST(WriteOutput, SafetensorsOfNoPictureHoldTheErrors) {
  const TempFolder folder;
  const FakeRun run(folder, 3);
  const fs::path output = folder / "out.safetensors";
  {
    Spool spool = run.open(output, SpoolMode::kFresh).value();
    const Error error(ErrorCode::kImageEmpty, {{"file", "a"}});
    spool.append({.index = 0, .file = "a", .error = &error}).value();
    write_output(spool, OutputFormat::kSafetensors, run.metadata).value();
  }
  const SafetensorsFile file = SafetensorsFile::open(output.string()).value();
  EXPECT_TRUE(file.entries().empty());
  EXPECT_EQ(Json::parse(file.metadata().at("errors")).size(), 1U);
}

TEST(WriteOutput, NpzHoldsTheSameArraysWithTheirChecksums) {
  const TempFolder folder;
  const FakeRun run(folder, 4);
  const std::string bytes = run.unbroken(folder / "out.npz", OutputFormat::kNpz);
  const auto members = read_zip(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(members);
  EXPECT_EQ(members->size(), 5U);
  const auto splits = members->at("row_splits.last_hidden_state.npy");
  const auto header = parse_npy(splits);
  ASSERT_TRUE(header);
  EXPECT_TRUE(header->integers);
  EXPECT_EQ(header->shape, (std::vector<std::int64_t>{4}));
  std::vector<std::int64_t> values(4);
  std::memcpy(values.data(), splits.data() + header->data_begin, 32);
  EXPECT_EQ(values, (std::vector<std::int64_t>{0, 1, 3, 7}));
  EXPECT_EQ(header->data_begin % 64, 0U);
  // The checksum that a reader compares, from the local header of the first member.
  const auto first = members->at("last_hidden_state.npy");
  std::uint32_t crc = 0;
  std::memcpy(&crc, bytes.data() + 14, sizeof crc);
  EXPECT_EQ(crc, crc32_of(first));
  const auto metadata = members->at("metadata.json");
  const Json json =
      Json::parse(std::string(reinterpret_cast<const char*>(metadata.data()), metadata.size()));
  EXPECT_EQ(json["files"].size(), 3U);
}

TEST(WriteOutput, NpyHoldsOneOutputAndItsFilesBeside) {
  const TempFolder folder;
  const FakeRun run(folder, 2);
  const fs::path output = folder / "out.npy";
  {
    Spool spool = run.open(output, SpoolMode::kFresh).value();
    const std::vector<float> values{1, 2, 3};
    const std::vector<std::int64_t> shape{1, 3};
    const std::vector<OutputBlock> blocks{{.name = "pooled", .shape = shape, .values = values}};
    spool.append({.index = 0, .file = "a.png", .blocks = blocks}).value();
    write_output(spool, OutputFormat::kNpy, run.metadata).value();
  }
  const std::string bytes = read_all(output);
  const auto header = parse_npy(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(header);
  EXPECT_FALSE(header->integers);
  EXPECT_EQ(header->shape, (std::vector<std::int64_t>{1, 3}));
  EXPECT_EQ(bytes.size(), header->data_begin + 12);
  const Json json = Json::parse(read_all(output.string() + ".json"));
  EXPECT_EQ(json["files"][0], "a.png");
  EXPECT_EQ(json["fingerprint"], run.metadata.fingerprint);
}

TEST(WriteOutput, JsonLinesHoldAnObjectAPictureInOrder) {
  const TempFolder folder;
  const FakeRun run(folder, 4);
  std::istringstream lines(run.unbroken(folder / "out.jsonl", OutputFormat::kJsonl));
  std::vector<Json> objects;
  for (std::string line; std::getline(lines, line);) {
    objects.push_back(Json::parse(line));
  }
  ASSERT_EQ(objects.size(), 4U);
  EXPECT_EQ(objects[1]["pooled"], (Json{1.0, 1.25, 1.5}));
  EXPECT_EQ(objects[1]["last_hidden_state"].size(), 2U);
  EXPECT_EQ(objects[1]["fingerprint"], run.metadata.content_hash);
  EXPECT_EQ(objects[2]["error"]["name"], "ImageUnreadable");
  EXPECT_FALSE(objects[2].contains("pooled"));
  EXPECT_EQ(objects[3]["index"], 3);
}

TEST(WriteOutput, JsonLinesReadBackToTheSameBits) {
  const std::vector<float> values{0.1F, 1.0F / 3.0F, 1e-38F, -3.4e38F, 16777217.0F};
  const std::vector<std::int64_t> shape{1, 5};
  const std::vector<OutputBlock> blocks{{.name = "pooled", .shape = shape, .values = values}};
  const Json json =
      Json::parse(jsonl_line({.index = 0, .file = "a\n\"b", .blocks = blocks}, "", "x"));
  EXPECT_EQ(json["file"], "a\n\"b");
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(static_cast<float>(json["pooled"][i].get<double>()), values[i]);
  }
}

Result<OutputLayout> layout_of_pixels(const TempFolder& folder,
                                      const std::vector<std::vector<std::int64_t>>& shapes) {
  const FakeRun run(folder, static_cast<int>(shapes.size()));
  Spool spool = run.open(folder / "pixels.safetensors", SpoolMode::kFresh).value();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::int64_t n = 1;
    for (const std::int64_t extent : shapes[i]) {
      n *= extent;
    }
    const std::vector<float> values(static_cast<std::size_t>(n), 1.0F);
    const std::vector<OutputBlock> blocks{
        {.name = "pixel_values", .shape = shapes[i], .values = values}};
    spool.append({.index = static_cast<std::int64_t>(i), .file = "p", .blocks = blocks}).value();
  }
  return layout_of(spool);
}

TEST(WriteOutput, PixelValuesOfOneSizeAreStacked) {
  const TempFolder folder;
  const OutputLayout layout = layout_of_pixels(folder, {{3, 4, 5}, {3, 4, 5}}).value();
  ASSERT_EQ(layout.arrays.size(), 1U);
  EXPECT_EQ(layout.arrays[0].shape, (std::vector<std::int64_t>{2, 3, 4, 5}));
}

TEST(WriteOutput, PixelValuesOfSeveralSizesAreFlatWithTheirShapes) {
  const TempFolder folder;
  const OutputLayout layout = layout_of_pixels(folder, {{3, 4, 5}, {3, 2, 2}}).value();
  ASSERT_EQ(layout.arrays.size(), 3U);
  EXPECT_EQ(layout.arrays[0].shape, (std::vector<std::int64_t>{72}));
  EXPECT_EQ(layout.arrays[1].name, "pixel_shapes");
  EXPECT_EQ(layout.arrays[1].values, (std::vector<std::int64_t>{3, 4, 5, 3, 2, 2}));
  EXPECT_EQ(layout.arrays[2].values, (std::vector<std::int64_t>{0, 60, 72}));
}

TEST(WriteOutput, TilesHaveTileSplitsAndPatchesRowSplits) {
  const TempFolder folder;
  const OutputLayout tiles = layout_of_pixels(folder, {{2, 3, 4, 4}, {1, 3, 4, 4}}).value();
  EXPECT_EQ(tiles.arrays[0].shape, (std::vector<std::int64_t>{3, 3, 4, 4}));
  EXPECT_EQ(tiles.arrays[1].name, "tile_splits");
  EXPECT_EQ(tiles.arrays[1].values, (std::vector<std::int64_t>{0, 2, 3}));
  const OutputLayout patches = layout_of_pixels(folder, {{4, 12}, {6, 12}}).value();
  EXPECT_EQ(patches.arrays[0].shape, (std::vector<std::int64_t>{10, 12}));
  EXPECT_EQ(patches.arrays[1].name, "row_splits.pixel_values");
}

TEST(WriteOutput, RowsOfDifferentWidthAreRefused) {
  const TempFolder folder;
  const auto layout = layout_of_pixels(folder, {{4, 12}, {6, 13}});
  ASSERT_FALSE(layout);
  EXPECT_EQ(layout.error().code(), ErrorCode::kShapeMismatch);
}

TEST(WriteOutput, UnknownEndingNamesThoseThatAreWritten) {
  const auto format = output_format("out.parquet");
  ASSERT_FALSE(format);
  EXPECT_EQ(format.error().code(), ErrorCode::kOptionUnknown);
  EXPECT_NE(format.error().message().find(".safetensors"), std::string::npos);
}

TEST(Zip, RefusesEveryCutWithoutReadingPastTheEnd) {
  const TempFolder folder;
  const FakeRun run(folder, 3);
  const std::string bytes = run.unbroken(folder / "out.npz", OutputFormat::kNpz);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<std::byte> cut(
        std::as_bytes(std::span(bytes)).begin(),
        std::as_bytes(std::span(bytes)).begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(read_zip(cut)) << size;
  }
}

}  // namespace
}  // namespace foveal::io
