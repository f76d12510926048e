// Reader of one safetensors file: u64 header length, JSON header, raw little-endian data. The file
// is memory-mapped and stays so while the object lives; everything in the header is checked before
// a view is given out. Format: huggingface/safetensors, README "Format".
#pragma once

#include <foveal/error.hpp>
#include <foveal/tensor_view.hpp>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foveal {

// Read-only mapping of a whole file; move-only.
class MappedFile {
 public:
  // SafetensorsInvalid with the reason of the system where it cannot be opened or mapped.
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  MappedFile() = default;
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

struct SafetensorsEntry {
  std::string name;
  // nullopt for formats that nothing here computes with (F4, F6 ...): a language model's tensors
  // may have them, and only its vision part is read.
  std::optional<DType> dtype;
  std::string dtype_text;  // as in the file: "BF16"
  Shape shape;
  Bytes begin;  // within the data section, [begin, end)
  Bytes end;
};

class SafetensorsFile {
 public:
  static Result<SafetensorsFile> open(const std::string& path);

  const std::string& path() const { return path_; }
  const std::vector<SafetensorsEntry>& entries() const { return entries_; }  // by offset
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  // nullptr where there is none.
  const SafetensorsEntry* find(std::string_view name) const;
  // Valid while this object lives. Old writers did not pad the header, so the data may be unaligned
  // for its dtype: read it with convert_to_f32 or memcpy, not through a typed pointer. The entry
  // has a dtype.
  ConstTensorView view(const SafetensorsEntry& entry) const;

 private:
  SafetensorsFile(std::string path, MappedFile file)
      : path_(std::move(path)), file_(std::move(file)) {}
  std::string path_;
  MappedFile file_;
  std::vector<SafetensorsEntry> entries_;
  std::map<std::string, std::string> metadata_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::size_t data_start_ = 0;
};

// The header alone, for tests and fuzzing: `bytes` is the whole file. Appends to entries and
// metadata and returns where the data section begins.
Result<std::size_t> parse_safetensors_header(std::span<const std::byte> bytes,
                                             const std::string& path,
                                             std::vector<SafetensorsEntry>& entries,
                                             std::map<std::string, std::string>& metadata);

}  // namespace foveal
