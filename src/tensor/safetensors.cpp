#include "tensor/safetensors.hpp"

#include "base/narrow.hpp"
#include "base/regular_file.hpp"
#include "tensor/json_scan.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace foveal {
namespace {

// Larger than any real header by far (a 1000-layer model has about 2 MB); the format's own limit.
constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;

std::optional<DType> dtype_of(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, DType>, 16> kTable{{{"F64", DType::kF64},
                                                                       {"F32", DType::kF32},
                                                                       {"F16", DType::kF16},
                                                                       {"BF16", DType::kBF16},
                                                                       {"I64", DType::kI64},
                                                                       {"I32", DType::kI32},
                                                                       {"I16", DType::kI16},
                                                                       {"I8", DType::kI8},
                                                                       {"U8", DType::kU8},
                                                                       {"BOOL", DType::kBool},
                                                                       {"U16", DType::kU16},
                                                                       {"U32", DType::kU32},
                                                                       {"U64", DType::kU64},
                                                                       {"F8_E4M3", DType::kF8},
                                                                       {"F8_E5M2", DType::kF8},
                                                                       {"F8_E8M0", DType::kF8}}};
  const auto it = std::find_if(kTable.begin(), kTable.end(),
                               [&](const auto& row) { return row.first == text; });
  return it == kTable.end() ? std::nullopt : std::optional(it->second);
}

Error invalid(const std::string& path, std::string reason) {
  return Error(ErrorCode::kSafetensorsInvalid, {{"file", path}, {"reason", std::move(reason)}});
}

// One `"name": {"dtype": .., "shape": [..], "data_offsets": [..]}` after its colon. nullopt:
// malformed JSON.
std::optional<SafetensorsEntry> parse_entry(JsonScan& json, std::string name) {
  SafetensorsEntry out;
  out.name = std::move(name);
  bool has_dtype = false;
  bool has_shape = false;
  bool has_offsets = false;
  if (!json.take('{')) {
    return std::nullopt;
  }
  do {
    const auto key = json.string();
    if (!key || !json.take(':')) {
      return std::nullopt;
    }
    if (*key == "dtype") {
      const auto text = json.string();
      if (!text) {
        return std::nullopt;
      }
      out.dtype_text = *text;
      has_dtype = true;
    } else if (*key == "shape") {
      if (!json.take('[')) {
        return std::nullopt;
      }
      out.shape = {};
      if (!json.take(']')) {
        do {
          const auto extent = json.integer();
          if (!extent || !out.shape.push_back(*extent)) {
            return std::nullopt;
          }
        } while (json.take(','));
        if (!json.take(']')) {
          return std::nullopt;
        }
      }
      has_shape = true;
    } else if (*key == "data_offsets") {
      if (!json.take('[')) {
        return std::nullopt;
      }
      const auto begin = json.integer();
      if (!begin || !json.take(',')) {
        return std::nullopt;
      }
      const auto end = json.integer();
      if (!end || !json.take(']')) {
        return std::nullopt;
      }
      out.begin = Bytes(*begin);
      out.end = Bytes(*end);
      has_offsets = true;
    } else if (!json.skip_value()) {
      return std::nullopt;
    }
  } while (json.take(','));
  if (!json.take('}') || !has_dtype || !has_shape || !has_offsets) {
    return std::nullopt;
  }
  return out;
}

bool parse_metadata(JsonScan& json, std::map<std::string, std::string>& metadata) {
  if (!json.take('{')) {
    return false;
  }
  if (json.take('}')) {
    return true;
  }
  do {
    auto key = json.string();
    if (!key || !json.take(':')) {
      return false;
    }
    auto value = json.string();
    if (!value) {
      return false;
    }
    metadata[*std::move(key)] = *std::move(value);
  } while (json.take(','));
  return json.take('}');
}

// nullopt where extents overflow.
std::optional<long long> bytes_of(const SafetensorsEntry& e) {
  std::optional<long long> bytes = dtype_size(*e.dtype).v;
  for (const std::int64_t extent : e.shape.extents()) {
    bytes = checked_mul(*bytes, extent);
    if (!bytes) {
      return std::nullopt;
    }
  }
  return bytes;
}

}  // namespace

Result<std::size_t> parse_safetensors_header(std::span<const std::byte> bytes,
                                             const std::string& path,
                                             std::vector<SafetensorsEntry>& entries,
                                             std::map<std::string, std::string>& metadata) {
  std::uint64_t header = 0;
  if (bytes.size() < sizeof header) {
    return invalid(path,
                   "it has " + std::to_string(bytes.size()) + " bytes, not even a header length");
  }
  for (std::size_t i = 0; i < sizeof header; ++i) {
    header |= std::to_integer<std::uint64_t>(bytes[i]) << (8 * i);
  }
  if (header > kMaxHeaderBytes) {
    return invalid(path, "the header length " + std::to_string(header) + " is out of range");
  }
  if (header > bytes.size() - sizeof header) {
    return Error(ErrorCode::kSafetensorsTruncated,
                 {{"file", path}, {"got", bytes.size()}, {"expected", header + sizeof header}});
  }
  const std::size_t data_start = sizeof header + static_cast<std::size_t>(header);
  JsonScan json({reinterpret_cast<const char*>(bytes.data()) + sizeof header,
                 static_cast<std::size_t>(header)});
  const auto malformed = [&] {
    return invalid(
        path, "the header is malformed at byte " + std::to_string(json.position() + sizeof header));
  };
  if (!json.take('{')) {
    return malformed();
  }
  std::int64_t data_bytes = 0;
  if (!json.take('}')) {
    do {
      auto name = json.string();
      if (!name || !json.take(':')) {
        return malformed();
      }
      if (*name == "__metadata__") {
        if (!parse_metadata(json, metadata)) {
          return malformed();
        }
        continue;
      }
      auto entry = parse_entry(json, *std::move(name));
      if (!entry) {
        return malformed();
      }
      entry->dtype = dtype_of(entry->dtype_text);
      const auto size = entry->dtype ? bytes_of(*entry) : (entry->end - entry->begin).v;
      if (!size || entry->end < entry->begin || (entry->end - entry->begin).v != *size) {
        return invalid(path, "tensor " + entry->name + " of shape " + entry->shape.text() + " " +
                                 entry->dtype_text + " does not fill its bytes [" +
                                 std::to_string(entry->begin.v) + ", " +
                                 std::to_string(entry->end.v) + ")");
      }
      data_bytes = std::max(data_bytes, entry->end.v);
      entries.push_back(*std::move(entry));
    } while (json.take(','));
    if (!json.take('}')) {
      return malformed();
    }
  }
  if (!json.at_end()) {
    return malformed();
  }
  const std::size_t expected = data_start + static_cast<std::size_t>(data_bytes);
  if (bytes.size() < expected) {
    return Error(ErrorCode::kSafetensorsTruncated,
                 {{"file", path}, {"got", bytes.size()}, {"expected", expected}});
  }
  std::stable_sort(
      entries.begin(), entries.end(),
      [](const SafetensorsEntry& a, const SafetensorsEntry& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < entries.size(); ++i) {
    if (entries[i].begin < entries[i - 1].end) {
      return invalid(path,
                     "tensors " + entries[i - 1].name + " and " + entries[i].name + " overlap");
    }
  }
  return data_start;
}

Result<MappedFile> MappedFile::open(const std::string& path) {
  const RegularFile file = RegularFile::open(path);
  if (!file.failure().empty()) {
    return invalid(path, file.failure());
  }
  MappedFile out;
  if (file.size() > 0) {
    const auto size = static_cast<std::size_t>(file.size());
    void* p = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
    if (p == MAP_FAILED) {
      return invalid(path, std::strerror(errno));
    }
    out.data_ = static_cast<const std::byte*>(p);
    out.size_ = size;
  }
  return out;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    ::munmap(const_cast<std::byte*>(data_), size_);
  }
}

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  FOVEAL_TRY(MappedFile file, MappedFile::open(path));
  SafetensorsFile out(path, std::move(file));
  FOVEAL_TRY(out.data_start_,
             parse_safetensors_header(out.file_.bytes(), path, out.entries_, out.metadata_));
  for (std::size_t i = 0; i < out.entries_.size(); ++i) {
    if (!out.by_name_.emplace(out.entries_[i].name, i).second) {
      return invalid(path, "tensor " + out.entries_[i].name + " appears twice");
    }
  }
  return out;
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &entries_[it->second];
}

ConstTensorView SafetensorsFile::view(const SafetensorsEntry& entry) const {
  return {file_.bytes().data() + data_start_ + entry.begin.v, *entry.dtype, entry.shape};
}

}  // namespace foveal
