// Reads a picture's file: regular files only, within the limit, nothing allocated before the size
// is known.
#include "base/regular_file.hpp"
#include "image/limits.hpp"

#include <foveal/image.hpp>

#include <new>
#include <span>

namespace foveal {
namespace {

Error unreadable(const std::filesystem::path& path, std::string_view reason) {
  return Error(ErrorCode::kImageUnreadable, {{"file", path.string()}, {"reason", reason}});
}

}  // namespace

Result<std::vector<std::uint8_t>> read_image_file(const std::filesystem::path& path,
                                                  const ImageLimits& limits) {
  RegularFile file = RegularFile::open(path.string());
  if (!file.failure().empty()) {
    return unreadable(path, file.failure());
  }
  FOVEAL_TRY_STATUS(check_file_size(file.size(), path.string(), limits));
  try {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(file.size()));
    const auto got = file.read(std::as_writable_bytes(std::span(bytes)));
    if (!got) {
      return unreadable(path, file.failure());
    }
    bytes.resize(*got);  // where it has shrunk since, the decoder will say what is missing
    return bytes;
  } catch (const std::bad_alloc&) {
    return out_of_memory(file.size(), path.string());
  }
}

}  // namespace foveal
