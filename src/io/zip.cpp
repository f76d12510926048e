#include "io/zip.hpp"

#include <cstring>
#include <string_view>

namespace foveal::io {
namespace {

constexpr std::uint32_t kLocalHeader = 0x04034b50;
constexpr std::uint32_t kCentralHeader = 0x02014b50;
constexpr std::uint32_t kZip64End = 0x06064b50;
constexpr std::uint32_t kZip64Locator = 0x07064b50;
constexpr std::uint32_t kEnd = 0x06054b50;
constexpr std::uint64_t kInZip64 = 0xFFFFFFFF;
constexpr std::uint64_t kVersion = 45;    // the first that knows zip64
constexpr std::uint64_t kDosDate = 0x21;  // 1980-01-01: equal content, equal bytes
constexpr std::size_t kLocalBytes = 30;
constexpr std::size_t kCentralBytes = 46;
constexpr std::size_t kEndBytes = 22;
constexpr std::size_t kLocatorBytes = 20;
constexpr std::size_t kCrcInLocal = 14;  // offset of the CRC field

class Fields {
 public:
  Fields& put(std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      text_ += static_cast<char>(value >> (8 * i));
    }
    return *this;
  }
  Fields& put(std::string_view text) {
    text_ += text;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

std::uint64_t get(std::span<const std::byte> bytes, std::size_t at, std::size_t count) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < count; ++i) {
    out |= std::to_integer<std::uint64_t>(bytes[at + i]) << (8 * i);
  }
  return out;
}

}  // namespace

Status ZipWriter::add(const std::string& name, std::int64_t size,
                      const std::function<Result<std::uint32_t>(File&)>& fill) {
  Member member{.name = name, .size = size, .offset = at_};
  // The zip64 field is always there: one form for every size, as NumPy itself writes it.
  const std::string header = Fields()
                                 .put(kLocalHeader, 4)
                                 .put(kVersion, 2)
                                 .put(0, 2)
                                 .put(0, 2)
                                 .put(0, 2)
                                 .put(kDosDate, 2)
                                 .put(0, 4)
                                 .put(kInZip64, 4)
                                 .put(kInZip64, 4)
                                 .put(name.size(), 2)
                                 .put(20, 2)
                                 .put(name)
                                 .put(1, 2)
                                 .put(16, 2)
                                 .put(static_cast<std::uint64_t>(size), 8)
                                 .put(static_cast<std::uint64_t>(size), 8)
                                 .text();
  FOVEAL_TRY_STATUS(to_->write(header));
  FOVEAL_TRY(member.crc, fill(*to_));
  const std::string crc = Fields().put(member.crc, 4).text();
  FOVEAL_TRY_STATUS(to_->write_at(member.offset + static_cast<std::int64_t>(kCrcInLocal),
                                  std::as_bytes(std::span(crc))));
  at_ += static_cast<std::int64_t>(header.size()) + size;
  members_.push_back(std::move(member));
  return {};
}

Status ZipWriter::finish() {
  Fields directory;
  for (const Member& m : members_) {
    const auto size = static_cast<std::uint64_t>(m.size);
    directory.put(kCentralHeader, 4)
        .put(kVersion, 2)
        .put(kVersion, 2)
        .put(0, 2)
        .put(0, 2)
        .put(0, 2)
        .put(kDosDate, 2)
        .put(m.crc, 4)
        .put(kInZip64, 4)
        .put(kInZip64, 4)
        .put(m.name.size(), 2)
        .put(28, 2)
        .put(0, 2)
        .put(0, 2)
        .put(0, 2)
        .put(0, 4)
        .put(kInZip64, 4)
        .put(m.name)
        .put(1, 2)
        .put(24, 2)
        .put(size, 8)
        .put(size, 8)
        .put(static_cast<std::uint64_t>(m.offset), 8);
  }
  const auto count = static_cast<std::uint64_t>(members_.size());
  const auto begin = static_cast<std::uint64_t>(at_);
  const auto length = static_cast<std::uint64_t>(directory.text().size());
  directory.put(kZip64End, 4)
      .put(44, 8)
      .put(kVersion, 2)
      .put(kVersion, 2)
      .put(0, 4)
      .put(0, 4)
      .put(count, 8)
      .put(count, 8)
      .put(length, 8)
      .put(begin, 8);
  directory.put(kZip64Locator, 4).put(0, 4).put(begin + length, 8).put(1, 4);
  directory.put(kEnd, 4)
      .put(0, 2)
      .put(0, 2)
      .put(0xFFFF, 2)
      .put(0xFFFF, 2)
      .put(kInZip64, 4)
      .put(kInZip64, 4)
      .put(0, 2);
  return to_->write(directory.text());
}

std::optional<std::map<std::string, std::span<const std::byte>>> read_zip(
    std::span<const std::byte> bytes) {
  // Only archives without a comment, as .npz files are: the end record is then at a known place.
  if (bytes.size() < kEndBytes || get(bytes, bytes.size() - kEndBytes, 4) != kEnd) {
    return std::nullopt;
  }
  const std::size_t end = bytes.size() - kEndBytes;
  std::uint64_t count = get(bytes, end + 10, 2);
  std::uint64_t at = get(bytes, end + 16, 4);
  if (end >= kLocatorBytes && get(bytes, end - kLocatorBytes, 4) == kZip64Locator) {
    const std::uint64_t record = get(bytes, end - kLocatorBytes + 8, 8);
    if (record > bytes.size() - 56 || bytes.size() < 56 ||
        get(bytes, static_cast<std::size_t>(record), 4) != kZip64End) {
      return std::nullopt;
    }
    count = get(bytes, static_cast<std::size_t>(record) + 32, 8);
    at = get(bytes, static_cast<std::size_t>(record) + 48, 8);
  }
  std::map<std::string, std::span<const std::byte>> out;
  for (; count > 0; --count) {
    if (at > bytes.size() || bytes.size() - at < kCentralBytes) {
      return std::nullopt;
    }
    const auto entry = bytes.subspan(static_cast<std::size_t>(at));
    const auto name_bytes = static_cast<std::size_t>(get(entry, 28, 2));
    const auto extra_bytes = static_cast<std::size_t>(get(entry, 30, 2));
    const auto comment_bytes = static_cast<std::size_t>(get(entry, 32, 2));
    if (get(entry, 0, 4) != kCentralHeader || get(entry, 10, 2) != 0 ||
        entry.size() - kCentralBytes < name_bytes + extra_bytes + comment_bytes) {
      return std::nullopt;
    }
    std::uint64_t size = get(entry, 24, 4);
    std::uint64_t local = get(entry, 42, 4);
    const auto extra = entry.subspan(kCentralBytes + name_bytes, extra_bytes);
    for (std::size_t e = 0; e + 4 <= extra.size();) {
      const auto length = static_cast<std::size_t>(get(extra, e + 2, 2));
      if (extra.size() - e - 4 < length) {
        return std::nullopt;
      }
      if (get(extra, e, 2) == 1) {
        std::size_t field = e + 4;
        const std::size_t stop = field + length;
        const auto next = [&](std::uint64_t& value) {
          if (value == kInZip64 && field + 8 <= stop) {
            value = get(extra, field, 8);
            field += 8;
          }
        };
        next(size);
        std::uint64_t packed = get(entry, 20, 4);
        next(packed);
        next(local);
      }
      e += 4 + length;
    }
    if (local > bytes.size() || bytes.size() - local < kLocalBytes) {
      return std::nullopt;
    }
    const auto header = bytes.subspan(static_cast<std::size_t>(local));
    const std::uint64_t skip = kLocalBytes + get(header, 26, 2) + get(header, 28, 2);
    if (get(header, 0, 4) != kLocalHeader || skip > header.size() || size > header.size() - skip) {
      return std::nullopt;
    }
    const std::string name(reinterpret_cast<const char*>(entry.data() + kCentralBytes), name_bytes);
    out[name] = header.subspan(static_cast<std::size_t>(skip), static_cast<std::size_t>(size));
    at += kCentralBytes + name_bytes + extra_bytes + comment_bytes;
  }
  return out;
}

}  // namespace foveal::io
