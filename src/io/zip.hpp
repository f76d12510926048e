// A zip archive of stored (uncompressed) members, which is what .npz is. Written in one pass over
// the data; sizes and offsets past 4 GiB by the zip64 fields (PKWARE APPNOTE 4.3-4.5). Read from
// memory.
#pragma once

#include "io/file.hpp"

#include <foveal/error.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace foveal::io {

class ZipWriter {
 public:
  explicit ZipWriter(File& to) : to_(&to) {}
  // fill: appends exactly `size` bytes to the file and returns their CRC-32.
  Status add(const std::string& name, std::int64_t size,
             const std::function<Result<std::uint32_t>(File&)>& fill);
  // The central directory. Nothing may be added after it.
  Status finish();

 private:
  struct Member {
    std::string name;
    std::int64_t size = 0;
    std::int64_t offset = 0;  // of its local header
    std::uint32_t crc = 0;
  };
  File* to_;
  std::int64_t at_ = 0;
  std::vector<Member> members_;
};

// Members of an archive by name, as views into `bytes`; nullopt where it is no archive of stored
// members.
std::optional<std::map<std::string, std::span<const std::byte>>> read_zip(
    std::span<const std::byte> bytes);

}  // namespace foveal::io
