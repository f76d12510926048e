// The journal of a run: one line a picture, each with its own checksum, so that a file cut off at
// any byte tells exactly how far the run had come. Line: 8 hex digits of CRC-32 of the rest, a
// space, JSON, newline. The first line holds the settings of the run.
#pragma once

#include "io/file.hpp"

#include <foveal/error.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace foveal::io {

// What must not change between the begin of a run and its --resume: name and value, for people too.
using RunSettings = std::vector<std::pair<std::string, std::string>>;

// What a picture was when it was read; both -1 where it could not be looked at.
struct FileStamp {
  std::int64_t bytes = -1;
  std::int64_t mtime_ns = -1;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
FileStamp stamp_of(const std::string& path);

// One output of one picture, as it lies in the spool.
struct SpooledBlock {
  std::size_t column = 0;  // which output, in the order in which they first came
  std::string name;        // of the column
  bool integers = false;   // int64, else float32
  std::vector<std::int64_t> shape;
  std::uint32_t crc = 0;       // of the bytes
  std::int64_t bytes() const;  // -1: the shape is none
};

struct JournalRecord {
  std::int64_t index = 0;  // place in the input, from 0
  std::string file;
  FileStamp stamp{};
  std::string error{};  // JSON text; empty: the picture was embedded
  std::vector<SpooledBlock> blocks{};
};

std::string journal_line(const RunSettings& settings);
std::string journal_line(const JournalRecord& record);

// Reads lines one by one through a small buffer. `end()` is the offset after the last good line:
// what comes behind it was cut off or damaged.
class JournalReader {
 public:
  explicit JournalReader(const File& file) : file_(&file) {}
  // nullopt: no good first line. Call it once, first.
  Result<std::optional<RunSettings>> settings();
  // nullopt: the end, or the first line that is not whole.
  Result<std::optional<JournalRecord>> next();
  std::int64_t end() const { return end_; }

 private:
  // The JSON text of the next line whose checksum holds.
  Result<std::optional<std::string>> line();
  const File* file_;
  std::string buffer_;
  std::size_t at_ = 0;     // start of the next line in buffer_
  std::int64_t read_ = 0;  // offset up to which the buffer was filled
  std::int64_t end_ = 0;
};

}  // namespace foveal::io
