// A temporary folder, and a made-up run of pictures for the tests of spool and writers.
#pragma once

#include "io/spool.hpp"
#include "io/write_output.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace foveal::io::testing {

namespace fs = std::filesystem;

class TempFolder {
 public:
  TempFolder() {
    std::string name = (fs::temp_directory_path() / "foveal_io_XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  fs::path operator/(const std::string& name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

inline std::string read_all(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_all(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Pictures 0..n-1: number 2 failed; picture i has i + 1 rows of last_hidden_state (2 columns), a
// pooled vector of 3 values and a grid.
struct FakeRun {
  std::vector<std::string> pictures;
  RunSettings settings{{"the output", "pooled,last_hidden_state"}, {"the fingerprint", "{}"}};
  OutputMetadata metadata{
      .fingerprint = R"({"content":{"layer":1},"content_hash":"0123456789abcdef"})",
      .content_hash = "0123456789abcdef",
      .embed = R"({"model":"m"})"};

  FakeRun(const TempFolder& folder, int count) {
    for (int i = 0; i < count; ++i) {
      pictures.push_back((folder / ("picture" + std::to_string(i) + ".png")).string());
      if (i != 2) {
        write_all(pictures.back(), std::string(static_cast<std::size_t>(i) + 1, 'x'));
      }
    }
  }

  static float pooled(std::int64_t i, int column) {
    return static_cast<float>(i) + 0.25F * static_cast<float>(column);
  }

  Status add(Spool& spool, std::int64_t i) const {
    const std::string& file = pictures[static_cast<std::size_t>(i)];
    if (i == 2) {
      const Error error(ErrorCode::kImageUnreadable, {{"file", file}, {"reason", "not there"}});
      return spool.append({.index = i, .file = file, .stamp = stamp_of(file), .error = &error});
    }
    const std::vector<float> vector{pooled(i, 0), pooled(i, 1), pooled(i, 2)};
    std::vector<float> rows(static_cast<std::size_t>(2 * (i + 1)));
    for (std::size_t j = 0; j < rows.size(); ++j) {
      rows[j] = static_cast<float>(i) * 100 + static_cast<float>(j);
    }
    const std::vector<std::int64_t> grid{1, i, 2 * i};
    const std::vector<std::int64_t> pooled_shape{1, 3};
    const std::vector<std::int64_t> rows_shape{i + 1, 2};
    const std::vector<std::int64_t> grid_shape{1, 3};
    const std::vector<OutputBlock> blocks{
        {.name = "last_hidden_state", .shape = rows_shape, .values = rows},
        {.name = "pooled", .shape = pooled_shape, .values = vector},
        {.name = "grid_thw", .shape = grid_shape, .integers = grid}};
    return spool.append({.index = i, .file = file, .stamp = stamp_of(file), .blocks = blocks});
  }

  Result<Spool> open(const fs::path& output, SpoolMode mode) const {
    return Spool::open(
        {.output = output, .mode = mode, .settings = settings, .pictures = pictures});
  }

  // The file of an unbroken run.
  std::string unbroken(const fs::path& output, OutputFormat format) const {
    Spool spool = open(output, SpoolMode::kFresh).value();
    for (std::size_t i = 0; i < pictures.size(); ++i) {
      add(spool, static_cast<std::int64_t>(i)).value();
    }
    write_output(spool, format, metadata).value();
    spool.remove();
    return read_all(output);
  }
};

}  // namespace foveal::io::testing
