#include "base/regular_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace foveal {
namespace {

std::string errno_text(int code) {
  return std::generic_category().message(code);
}

}  // namespace

RegularFile RegularFile::open(const std::string& path) {
  RegularFile out;
  if (path.find('\0') != std::string::npos) {  // the system would read the name up to there
    out.failure_ = "its name holds a NUL character";
    return out;
  }
  // Without O_NONBLOCK a named pipe would wait here for a writer.
  out.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info {};
  if (out.fd_ < 0 || ::fstat(out.fd_, &info) != 0) {
    out.failure_ = errno_text(errno);
  } else if (S_ISDIR(info.st_mode)) {
    out.failure_ = errno_text(EISDIR);
  } else if (!S_ISREG(info.st_mode)) {
    out.failure_ = "it is not a regular file";
  }
  out.size_ = static_cast<std::int64_t>(info.st_size);
  return out;
}

RegularFile::RegularFile(RegularFile&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), size_(other.size_), failure_(std::move(other.failure_)) {}

RegularFile::~RegularFile() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

std::optional<std::size_t> RegularFile::read(std::span<std::byte> into) {
  std::size_t have = 0;
  while (have < into.size()) {
    const ssize_t got = ::read(fd_, into.data() + have, into.size() - have);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      failure_ = errno_text(errno);
      return std::nullopt;
    }
    if (got == 0) {  // it has shrunk since
      break;
    }
    have += static_cast<std::size_t>(got);
  }
  return have;
}

FileText read_regular_file(const std::string& path, std::int64_t max_bytes) {
  RegularFile file = RegularFile::open(path);
  if (!file.failure().empty()) {
    return {.text = {}, .failure = file.failure()};
  }
  if (file.size() > max_bytes) {
    return {.text = {},
            .failure = "it has " + std::to_string(file.size()) + " bytes, more than the limit of " +
                       std::to_string(max_bytes)};
  }
  FileText out;
  out.text.resize(static_cast<std::size_t>(file.size()));
  const auto got = file.read(std::as_writable_bytes(std::span(out.text)));
  out.failure = file.failure();
  out.text.resize(got.value_or(0));
  return out;
}

}  // namespace foveal
