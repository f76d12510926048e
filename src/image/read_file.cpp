// Reads a picture's file: regular files only, within the limit, nothing allocated before the size
// is known.
#include "image/limits.hpp"

#include <foveal/image.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <system_error>

namespace foveal {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) {
      ::close(fd_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }

 private:
  int fd_;
};

Error unreadable(const std::filesystem::path& path, std::string_view reason) {
  return Error(ErrorCode::kImageUnreadable, {{"file", path.string()}, {"reason", reason}});
}

std::string errno_text(int code) {
  return std::generic_category().message(code);
}

}  // namespace

Result<std::vector<std::uint8_t>> read_image_file(const std::filesystem::path& path,
                                                  const ImageLimits& limits) {
  // Without O_NONBLOCK a named pipe would wait here for a writer.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    return unreadable(path, errno_text(errno));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    return unreadable(path, errno_text(errno));
  }
  if (S_ISDIR(status.st_mode)) {
    return unreadable(path, errno_text(EISDIR));
  }
  if (!S_ISREG(status.st_mode)) {
    return unreadable(path, "it is not a regular file");
  }
  FOVEAL_TRY_STATUS(check_file_size(status.st_size, path.string(), limits));
  try {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(status.st_size));
    std::size_t have = 0;
    while (have < bytes.size()) {
      const ssize_t got = ::read(file.get(), bytes.data() + have, bytes.size() - have);
      if (got < 0 && errno == EINTR) {
        continue;
      }
      if (got < 0) {
        return unreadable(path, errno_text(errno));
      }
      if (got == 0) {  // it has shrunk since: the decoder will say what is missing
        break;
      }
      have += static_cast<std::size_t>(got);
    }
    bytes.resize(have);
    return bytes;
  } catch (const std::bad_alloc&) {
    return out_of_memory(status.st_size, path.string());
  }
}

}  // namespace foveal
