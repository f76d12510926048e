// Files that are written: every failure is OutputUnwritable with the system's reason. Sizes and
// offsets are in bytes. AtomicFile makes a file appear whole or not at all: written beside, synced,
// renamed.
#pragma once

#include <foveal/error.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace foveal::io {

Error unwritable(const std::filesystem::path& path, std::string reason);
// With the text of `code`, an errno.
Error unwritable(const std::filesystem::path& path, int code);

// A descriptor opened for reading and writing; move-only, closed on destruction.
class File {
 public:
  enum class Mode : std::uint8_t { kTruncate, kKeep, kReadOnly };
  // Regular files only, and never waiting.
  static Result<File> open(const std::filesystem::path& path, Mode mode);
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  const std::filesystem::path& path() const { return path_; }
  int descriptor() const { return fd_; }
  Result<std::int64_t> size() const;
  // At the current position.
  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text))); }
  Status write_at(std::int64_t offset, std::span<const std::byte> bytes);
  // As many bytes as there are, up to the size of `into`.
  Result<std::size_t> read_at(std::int64_t offset, std::span<std::byte> into) const;
  // Cuts or extends, and moves the position to the end.
  Status resize(std::int64_t size);
  Status sync();

 private:
  File(std::filesystem::path path, int fd) : path_(std::move(path)), fd_(fd) {}
  std::filesystem::path path_;
  int fd_ = -1;
};

// Appends bytes [0, size) of `from` to `to` and returns the CRC-32 of them together with what `crc`
// stood for.
Result<std::uint32_t> append_file(const File& from, std::int64_t size, File& to,
                                  std::uint32_t crc = 0);
std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t crc = 0);

// A file that appears under `target` on commit() and leaves nothing behind without it.
class AtomicFile {
 public:
  // temporary: on the same file system as target.
  static Result<AtomicFile> create(const std::filesystem::path& temporary,
                                   const std::filesystem::path& target);
  AtomicFile(AtomicFile&&) noexcept = default;
  AtomicFile& operator=(AtomicFile&&) noexcept = delete;
  ~AtomicFile();
  File& file() { return file_; }
  // Syncs the file, renames it, syncs the folder.
  Status commit();

 private:
  AtomicFile(File file, std::filesystem::path target)
      : file_(std::move(file)), target_(std::move(target)) {}
  File file_;
  std::filesystem::path target_;
};

// The whole of a small file.
Status write_atomically(const std::filesystem::path& target, std::span<const std::byte> bytes);

// Where an output goes: symbolic links followed. OutputUnwritable where there is something else
// than a regular file, or the folder is missing or closed to us: found before hours of work, not
// after.
Result<std::filesystem::path> output_target(const std::filesystem::path& path);

}  // namespace foveal::io
