// A run on its way to an output file: the folder `.NAME.part` beside it holds a journal (a record a
// picture) and one file of rows an output. Rows go there as they come, so memory does not grow with
// the number of pictures, and a run that was killed at any point goes on from the last whole
// picture.
#pragma once

#include "io/file.hpp"
#include "io/journal.hpp"

#include <foveal/error.hpp>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foveal::io {

// Rows that one picture gives to one output: values or integers, the other is empty.
struct OutputBlock {
  std::string_view name;
  std::span<const std::int64_t> shape;       // rows first; (3, H, W) for one whole picture
  std::span<const float> values{};           // product of shape
  std::span<const std::int64_t> integers{};  // product of shape
};

struct PictureOutput {
  std::int64_t index = 0;  // place in the input, from 0
  std::string_view file;
  FileStamp stamp{};
  const Error* error = nullptr;  // not null: no blocks
  std::span<const OutputBlock> blocks{};
};

enum class SpoolMode : std::uint8_t { kFresh, kResume };

struct SpoolOptions {
  std::filesystem::path output;
  SpoolMode mode = SpoolMode::kFresh;
  RunSettings settings;
  std::span<const std::string>
      pictures;  // all inputs in order; a resumed run must find them unchanged
};

class Spool {
 public:
  // Fresh: what an earlier run left is replaced. Resume: goes on behind the last picture whose
  // record and rows are whole; where nothing was left, begins. OutputUnwritable (also: another
  // process writes the same output), ResumeMismatch.
  static Result<Spool> open(const SpoolOptions& options);
  static std::filesystem::path folder_for(const std::filesystem::path& output);

  std::int64_t done() const { return done_; }      // pictures recorded, failed ones among them
  std::int64_t failed() const { return failed_; }  // among them
  const std::filesystem::path& output() const { return output_; }
  const std::filesystem::path& folder() const { return folder_; }

  // Pictures come in the order of the input. OutputUnwritable.
  Status append(const PictureOutput& picture);

  // Walks over all records in order.
  Status for_each(const std::function<Status(const JournalRecord&)>& visit) const;
  // Rows of a column, as far as they are recorded.
  const File& column(std::size_t i) const { return columns_[i].file; }
  std::size_t columns() const { return columns_.size(); }

  // Removes the folder: the output is complete, or nothing in it is worth keeping.
  void remove();

 private:
  struct Column {
    std::string name;
    bool integers = false;
    File file;
    std::int64_t size = 0;  // bytes recorded
  };
  Spool(std::filesystem::path output, std::filesystem::path folder, File journal)
      : output_(std::move(output)), folder_(std::move(folder)), journal_(std::move(journal)) {}
  Status begin(const RunSettings& settings);
  Status resume(const SpoolOptions& options);
  Result<std::size_t> column_for(std::string_view name, bool integers, File::Mode mode);
  // Whether the rows of the record are on disk as they were written.
  Result<bool> rows_are_whole(const JournalRecord& record) const;
  Error as_output_error(Error error) const;

  std::filesystem::path output_;
  std::filesystem::path folder_;
  File journal_;
  std::vector<Column> columns_;
  std::int64_t done_ = 0;
  std::int64_t failed_ = 0;
};

}  // namespace foveal::io
