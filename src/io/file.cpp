#include "io/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include <zlib.h>

namespace foveal::io {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{1}
                                    << 20;  // of a copy: past it, larger blocks gain nothing

Status sync_folder(const std::filesystem::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) {
    return unwritable(folder, errno);
  }
  const int failed = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  if (failed != 0 && failed != EINVAL) {  // EINVAL: a file system without folders to sync
    return unwritable(folder, failed);
  }
  return {};
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  const std::filesystem::path parent = path.parent_path();
  return parent.empty() ? std::filesystem::path(".") : parent;
}

}  // namespace

Error unwritable(const std::filesystem::path& path, std::string reason) {
  return Error(ErrorCode::kOutputUnwritable,
               {{"file", path.string()}, {"reason", std::move(reason)}});
}

Error unwritable(const std::filesystem::path& path, int code) {
  return unwritable(path, std::generic_category().message(code));
}

Result<File> File::open(const std::filesystem::path& path, Mode mode) {
  const int flags = mode == Mode::kReadOnly   ? O_RDONLY
                    : mode == Mode::kTruncate ? O_RDWR | O_CREAT | O_TRUNC
                                              : O_RDWR | O_CREAT;
  // Without O_NONBLOCK a named pipe would wait here for the other side.
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0666);
  if (fd < 0) {
    return unwritable(path, errno);
  }
  File out(path, fd);
  struct stat info {};
  if (::fstat(fd, &info) != 0) {
    return unwritable(path, errno);
  }
  if (!S_ISREG(info.st_mode)) {  // rows written to a device would be gone
    return unwritable(path, S_ISDIR(info.st_mode) ? std::generic_category().message(EISDIR)
                                                  : "it is not a regular file");
  }
  return out;
}

File::File(File&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

File& File::operator=(File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  return *this;
}

File::~File() {
  if (fd_ >= 0) {
    ::close(fd_);
  }
}

Result<std::int64_t> File::size() const {
  struct stat info {};
  if (::fstat(fd_, &info) != 0) {
    return unwritable(path_, errno);
  }
  return static_cast<std::int64_t>(info.st_size);
}

Status File::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(fd_, bytes.data(), bytes.size());
    if (done < 0) {
      if (errno == EINTR) {
        continue;
      }
      return unwritable(path_, errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return {};
}

Status File::write_at(std::int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::pwrite(fd_, bytes.data(), bytes.size(), offset);
    if (done < 0) {
      if (errno == EINTR) {
        continue;
      }
      return unwritable(path_, errno);
    }
    offset += done;
    bytes = bytes.subspan(static_cast<std::size_t>(done));
  }
  return {};
}

Result<std::size_t> File::read_at(std::int64_t offset, std::span<std::byte> into) const {
  std::size_t got = 0;
  while (got < into.size()) {
    const ssize_t done =
        ::pread(fd_, into.data() + got, into.size() - got, offset + static_cast<std::int64_t>(got));
    if (done < 0 && errno == EINTR) {
      continue;
    }
    if (done < 0) {
      return unwritable(path_, errno);
    }
    if (done == 0) {
      break;
    }
    got += static_cast<std::size_t>(done);
  }
  return got;
}

Status File::resize(std::int64_t size) {
  if (::ftruncate(fd_, size) != 0 || ::lseek(fd_, size, SEEK_SET) < 0) {
    return unwritable(path_, errno);
  }
  return {};
}

Status File::sync() {
  if (::fsync(fd_) != 0) {
    return unwritable(path_, errno);
  }
  return {};
}

std::uint32_t crc32_of(std::span<const std::byte> bytes, std::uint32_t crc) {
  return static_cast<std::uint32_t>(
      ::crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

Result<std::uint32_t> append_file(const File& from, std::int64_t size, File& to,
                                  std::uint32_t crc) {
  std::vector<std::byte> block(
      std::min(kBlockBytes, static_cast<std::size_t>(std::max<std::int64_t>(size, 0))));
  for (std::int64_t at = 0; at < size;) {
    const auto want = static_cast<std::size_t>(
        std::min<std::int64_t>(size - at, static_cast<std::int64_t>(block.size())));
    const std::span part = std::span(block).first(want);
    FOVEAL_TRY(const std::size_t got, from.read_at(at, part));
    if (got != want) {
      return unwritable(from.path(), "it was cut off while it was in use");
    }
    crc = crc32_of(part, crc);
    FOVEAL_TRY_STATUS(to.write(part));
    at += static_cast<std::int64_t>(want);
  }
  return crc;
}

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& temporary,
                                      const std::filesystem::path& target) {
  FOVEAL_TRY(File file, File::open(temporary, File::Mode::kTruncate));
  return AtomicFile(std::move(file), target);
}

AtomicFile::~AtomicFile() {
  if (file_.descriptor() >= 0) {
    ::unlink(file_.path().c_str());
  }
}

Status AtomicFile::commit() {
  FOVEAL_TRY_STATUS(file_.sync());
  if (::rename(file_.path().c_str(), target_.c_str()) != 0) {
    return unwritable(target_, errno);
  }
  const File done = std::move(file_);  // closed here, and no longer the destructor's to remove
  return sync_folder(folder_of(target_));
}

Status write_atomically(const std::filesystem::path& target, std::span<const std::byte> bytes) {
  FOVEAL_TRY(const std::filesystem::path real, output_target(target));
  const std::filesystem::path temporary =
      folder_of(real) / ("." + real.filename().string() + ".part" + std::to_string(::getpid()));
  auto file = AtomicFile::create(temporary, real);
  if (!file) {
    return unwritable(target, file.error().field("reason")->text());
  }
  FOVEAL_TRY_STATUS(file->file().write(bytes));
  return file->commit();
}

Result<std::filesystem::path> output_target(const std::filesystem::path& path) {
  std::error_code failed;
  std::filesystem::path real = path;
  if (std::filesystem::is_symlink(path, failed)) {
    real = std::filesystem::weakly_canonical(path, failed);
    if (failed) {
      return unwritable(path, failed.message());
    }
  }
  struct stat info {};
  if (::stat(real.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) {
      return unwritable(path, "it is a folder");
    }
    if (!S_ISREG(info.st_mode)) {
      return unwritable(path, "it is not a regular file");
    }
  }
  if (!real.has_filename()) {
    return unwritable(path, "it names no file");
  }
  if (::access(folder_of(real).c_str(), W_OK | X_OK) != 0) {
    return unwritable(path, errno);
  }
  return real;
}

}  // namespace foveal::io
