// The JSON lines of an output: an object a picture, floats in the shortest form that reads back to
// the same bits.
#include "io/write_output.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

namespace foveal::io {
namespace {

constexpr std::size_t kFlushBytes = std::size_t{1} << 20;

void append_number(float value, std::string& out) {
  if (!std::isfinite(value)) {
    out += "null";  // JSON has no other word for it
    return;
  }
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value);
  out.append(text.data(), end.ptr);
}

void append_number(std::int64_t value, std::string& out) {
  out += std::to_string(value);
}

// Nested arrays of `shape`; advances `at`.
template <class T>
void append_nested(std::span<const std::int64_t> shape, const T*& at, std::string& out) {
  if (shape.empty()) {
    append_number(*at++, out);
    return;
  }
  out += '[';
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    out += i == 0 ? "" : ",";
    append_nested(shape.subspan(1), at, out);
  }
  out += ']';
}

}  // namespace

std::string jsonl_line(const PictureOutput& picture, std::string_view error,
                       std::string_view content_hash) {
  std::string out = dump({{"index", picture.index}, {"file", std::string(picture.file)}});
  out.pop_back();  // the brace: the arrays follow without a detour through a JSON value
  if (!error.empty()) {
    out += ",\"error\":";
    out += error;
  }
  for (const OutputBlock& block : picture.blocks) {
    out += "," + dump(Json(std::string(block.name))) + ":";
    // One row a picture is what people call its vector.
    const bool vector = block.shape.size() == 2 && block.shape[0] == 1;
    const auto shape = vector ? block.shape.subspan(1) : block.shape;
    if (!block.integers.empty()) {
      const std::int64_t* at = block.integers.data();
      append_nested(shape, at, out);
    } else {
      const float* at = block.values.data();
      append_nested(shape, at, out);
    }
  }
  if (error.empty()) {
    out += ",\"fingerprint\":" + dump(Json(std::string(content_hash)));
  }
  out += "}\n";
  return out;
}

Status write_jsonl(const Spool& spool, const OutputMetadata& metadata, File& to) {
  std::vector<std::int64_t> offsets(spool.columns(), 0);
  std::string pending;
  const auto visit = [&](const JournalRecord& record) -> Status {
    std::vector<std::vector<float>> values(record.blocks.size());
    std::vector<std::vector<std::int64_t>> integers(record.blocks.size());
    std::vector<OutputBlock> blocks;
    for (std::size_t i = 0; i < record.blocks.size(); ++i) {
      const SpooledBlock& block = record.blocks[i];
      std::span<std::byte> into;
      if (block.integers) {
        integers[i].resize(static_cast<std::size_t>(block.bytes()) / sizeof(std::int64_t));
        into = std::as_writable_bytes(std::span(integers[i]));
      } else {
        values[i].resize(static_cast<std::size_t>(block.bytes()) / sizeof(float));
        into = std::as_writable_bytes(std::span(values[i]));
      }
      FOVEAL_TRY(const std::size_t got,
                 spool.column(block.column).read_at(offsets[block.column], into));
      if (got != into.size()) {
        return unwritable(spool.output(), "the spool was cut off while it was in use");
      }
      offsets[block.column] += block.bytes();
      blocks.push_back(
          {.name = block.name, .shape = block.shape, .values = values[i], .integers = integers[i]});
    }
    pending += jsonl_line({.index = record.index, .file = record.file, .blocks = blocks},
                          record.error, metadata.content_hash);
    if (pending.size() >= kFlushBytes) {
      FOVEAL_TRY_STATUS(to.write(pending));
      pending.clear();
    }
    return {};
  };
  FOVEAL_TRY_STATUS(spool.for_each(visit));
  return to.write(pending);
}

}  // namespace foveal::io
