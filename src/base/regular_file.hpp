// Reading files that somebody else made. Only regular files are read, and opening one never waits:
// a named pipe would wait for a writer, and a device may have no end. Sizes and offsets in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace foveal {

// A descriptor opened for reading; move-only, closed on destruction.
class RegularFile {
 public:
  // Look at failure() before anything else.
  static RegularFile open(const std::string& path);
  RegularFile(RegularFile&& other) noexcept;
  RegularFile& operator=(RegularFile&&) = delete;
  ~RegularFile();

  // Why the file cannot be read, as the system says it; empty where it can.
  const std::string& failure() const { return failure_; }
  int descriptor() const { return fd_; }
  std::int64_t size() const { return size_; }  // when it was opened
  // From the current position: as many bytes as there are, up to the size of `into`. nullopt sets
  // failure().
  std::optional<std::size_t> read(std::span<std::byte> into);

 private:
  RegularFile() = default;
  int fd_ = -1;
  std::int64_t size_ = 0;
  std::string failure_;
};

struct FileText {
  std::string text;
  std::string failure;  // why it could not be read; empty where it was
};
// The whole of a file of at most max_bytes; a larger one is not read.
FileText read_regular_file(const std::string& path, std::int64_t max_bytes);

}  // namespace foveal
