#include "io/index.hpp"

#include "io/error_json.hpp"
#include "io/file.hpp"
#include "io/npy.hpp"
#include "io/zip.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

namespace foveal::io {
namespace {

constexpr std::string_view kVectors = "pooled";

// Four running sums: enough to keep the adders busy, in an order that is the same everywhere.
double dot(const float* a, const float* b, std::int64_t n) {
  std::array<double, 4> sum{};
  std::int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int lane = 0; lane < 4; ++lane) {
      sum[static_cast<std::size_t>(lane)] +=
          static_cast<double>(a[i + lane]) * static_cast<double>(b[i + lane]);
    }
  }
  for (; i < n; ++i) {
    sum[0] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

std::string setting(const std::string& key, const Json& value) {
  std::string text = value.is_string() ? value.get<std::string>() : dump(value);
  if (text.size() > 80) {  // what follows tells people nothing more
    text = text.substr(0, 77) + "...";
  }
  return key + " " + text;
}

// The first key in which two objects differ, with both values.
std::optional<std::pair<std::string, std::string>> first_difference(const Json& a, const Json& b) {
  if (!a.is_object() || !b.is_object()) {
    return std::nullopt;
  }
  for (const auto& [key, value] : a.items()) {
    const Json other = b.contains(key) ? b[key] : Json();
    if (value != other) {
      const auto deeper = first_difference(value, other);
      return deeper ? std::pair(key + "." + deeper->first, key + "." + deeper->second)
                    : std::pair(setting(key, value), setting(key, other));
    }
  }
  for (const auto& [key, value] : b.items()) {
    if (!a.contains(key)) {
      return std::pair(setting(key, Json()), setting(key, value));
    }
  }
  return std::nullopt;
}

}  // namespace

Error VectorIndex::unreadable(std::string reason) const {
  return Error(ErrorCode::kIndexUnreadable,
               {{"file", path_.string()}, {"reason", std::move(reason)}});
}

Result<VectorIndex> VectorIndex::open(const std::filesystem::path& path) {
  const auto fail = [&](const Error& cause) {
    const ErrorField* reason = cause.field("reason");
    return Error(ErrorCode::kIndexUnreadable,
                 {{"file", path.string()},
                  {"reason", reason != nullptr ? reason->text() : cause.message()}});
  };
  auto file = MappedFile::open(path.string());
  if (!file) {
    return fail(file.error());
  }
  VectorIndex index(path, *std::move(file));
  const std::string ending = path.extension().string();
  Status read = ending == ".safetensors" ? index.read_safetensors()
                : ending == ".npz"       ? index.read_npz()
                : ending == ".npy"
                    ? index.read_npy()
                    : Status(index.unreadable("only .safetensors, .npz and .npy can be searched"));
  if (!read) {
    return read.error().code() == ErrorCode::kIndexUnreadable ? std::move(read).error()
                                                              : fail(read.error());
  }
  return index;
}

Status VectorIndex::read_safetensors() {
  std::vector<SafetensorsEntry> entries;
  std::map<std::string, std::string> metadata;
  const auto bytes = file_.bytes();
  FOVEAL_TRY(const std::size_t data,
             parse_safetensors_header(bytes, path_.string(), entries, metadata));
  const auto find = [&](std::string_view name) {
    return std::find_if(entries.begin(), entries.end(),
                        [&](const auto& e) { return e.name == name; });
  };
  const auto vectors = find(kVectors);
  if (vectors == entries.end() && metadata.count("files") != 0 && metadata["files"] == "[]") {
    return unreadable("no picture was embedded into it");
  }
  if (vectors == entries.end() || vectors->dtype != DType::kF32) {
    return unreadable("it has no float32 tensor `pooled`");
  }
  if (find("row_splits.pooled") != entries.end()) {
    return unreadable("`pooled` has several rows a picture, not one vector");
  }
  FOVEAL_TRY_STATUS(
      set_vectors(bytes.subspan(data + static_cast<std::size_t>(vectors->begin.v),
                                static_cast<std::size_t>((vectors->end - vectors->begin).v)),
                  vectors->shape.extents()));
  return set_metadata(metadata["files"], metadata["fingerprint"], metadata["embed"]);
}

Status VectorIndex::read_npz() {
  const auto members = read_zip(file_.bytes());
  if (!members) {
    return unreadable("it is no zip archive of stored members");
  }
  const auto vectors = members->find("pooled.npy");
  const auto metadata = members->find("metadata.json");
  if (vectors == members->end() || metadata == members->end()) {
    return unreadable("it has no pooled.npy and metadata.json");
  }
  if (members->count("row_splits.pooled.npy") != 0) {
    return unreadable("`pooled` has several rows a picture, not one vector");
  }
  const auto header = parse_npy(vectors->second);
  if (!header || header->integers) {
    return unreadable("pooled.npy is no float32 array");
  }
  FOVEAL_TRY_STATUS(set_vectors(vectors->second.subspan(header->data_begin), header->shape));
  const auto text = metadata->second;
  const Json json =
      parse(std::string_view(reinterpret_cast<const char*>(text.data()), text.size()));
  if (!json.is_object() || !json.contains("files")) {
    return unreadable("metadata.json is damaged");
  }
  return set_metadata(dump(json["files"]), text_member(json, "fingerprint"),
                      text_member(json, "embed"));
}

Status VectorIndex::read_npy() {
  const auto header = parse_npy(file_.bytes());
  if (!header || header->integers) {
    return unreadable("it is no float32 array");
  }
  const auto data = file_.bytes().subspan(header->data_begin);
  FOVEAL_TRY_STATUS(set_vectors(data, header->shape));
  const std::string beside = path_.string() + ".json";
  auto file = MappedFile::open(beside);
  if (!file) {
    return unreadable("the file names beside it, " + beside + ", cannot be read");
  }
  const auto text = file->bytes();
  const Json json =
      parse(std::string_view(reinterpret_cast<const char*>(text.data()), text.size()));
  if (!json.is_object() || !json.contains("files") || !json.contains("crc32") ||
      !json["crc32"].is_number()) {
    return unreadable(beside + " is damaged");
  }
  if (json["crc32"].get<std::uint32_t>() != crc32_of(data.first(data_.size()))) {
    return unreadable(beside + " belongs to another array");
  }
  if (text_member(json, "output") != kVectors || json.contains("row_splits.pooled")) {
    return unreadable("it holds no vector a picture, but rows of `" + text_member(json, "output") +
                      "`");
  }
  return set_metadata(dump(json["files"]), text_member(json, "fingerprint"),
                      text_member(json, "embed"));
}

Status VectorIndex::set_vectors(std::span<const std::byte> data,
                                std::span<const std::int64_t> shape) {
  if (shape.size() != 2) {
    return unreadable("`pooled` is not (pictures, dimensions)");
  }
  rows_ = shape[0];
  dim_ = shape[1];
  const std::size_t size =
      static_cast<std::size_t>(rows_) * static_cast<std::size_t>(dim_) * sizeof(float);
  if (data.size() < size) {
    return unreadable("it is cut off");
  }
  data_ = data.first(size);
  return {};
}

Status VectorIndex::set_metadata(std::string_view files, std::string_view fingerprint,
                                 std::string_view embed) {
  const Json list = parse(files);
  if (!list.is_array() ||
      !std::all_of(list.begin(), list.end(), [](const Json& f) { return f.is_string(); })) {
    return unreadable("it does not say which files its vectors belong to");
  }
  files_ = list.get<std::vector<std::string>>();
  if (static_cast<std::int64_t>(files_.size()) != rows_) {
    return unreadable("it has " + std::to_string(rows_) + " vectors for " +
                      std::to_string(files_.size()) + " files");
  }
  fingerprint_ = fingerprint;
  embed_ = embed;
  return {};
}

Result<std::vector<Hit>> VectorIndex::nearest(std::span<const float> query, std::int64_t k) const {
  if (static_cast<std::int64_t>(query.size()) != dim_) {
    return Error(ErrorCode::kIndexMismatch,
                 {{"file", path_.string()},
                  {"got", "vectors of " + std::to_string(dim_) + " dimensions"},
                  {"other", "the query"},
                  {"expected", std::to_string(query.size())}});
  }
  const double query_norm = std::sqrt(dot(query.data(), query.data(), dim_));
  std::vector<float> row(query.size());
  std::vector<Hit> best;  // a heap of the k best, the worst on top
  const auto better = [](const Hit& a, const Hit& b) {
    return a.score != b.score ? a.score > b.score : a.row < b.row;
  };
  for (std::int64_t i = 0; i < rows_; ++i) {
    std::memcpy(row.data(), data_.data() + static_cast<std::size_t>(i) * row.size() * sizeof(float),
                row.size() * sizeof(float));
    const double norm = std::sqrt(dot(row.data(), row.data(), dim_));
    const Hit hit{.row = i, .score = dot(row.data(), query.data(), dim_) / (norm * query_norm)};
    if (!std::isfinite(hit.score)) {
      continue;
    }
    if (static_cast<std::int64_t>(best.size()) < k) {
      best.push_back(hit);
      std::push_heap(best.begin(), best.end(), better);
    } else if (k > 0 && better(hit, best.front())) {
      std::pop_heap(best.begin(), best.end(), better);
      best.back() = hit;
      std::push_heap(best.begin(), best.end(), better);
    }
  }
  std::sort_heap(best.begin(), best.end(), better);
  return best;
}

Status VectorIndex::comparable_with(std::string_view fingerprint, std::string_view who,
                                    std::vector<std::string>& notes) const {
  const Json ours = parse(fingerprint_);
  const Json theirs = parse(fingerprint);
  if (!ours.is_object() || !ours.contains("content_hash")) {
    return unreadable("it carries no fingerprint: nothing says which model its vectors are from");
  }
  const Json none;
  const auto part = [&](const Json& json, const char* key) {
    return json.is_object() && json.contains(key) ? json[key] : none;
  };
  if (part(ours, "content_hash") != part(theirs, "content_hash")) {
    const auto difference = first_difference(part(ours, "content"), part(theirs, "content"));
    return Error(
        ErrorCode::kIndexMismatch,
        {{"file", path_.string()},
         {"got", "vectors of " + (difference ? difference->first
                                             : setting("content", part(ours, "content_hash")))},
         {"other", who},
         {"expected",
          difference ? difference->second : setting("content", part(theirs, "content_hash"))}});
  }
  const Json our_notes = part(ours, "notes");
  const Json their_notes = part(theirs, "notes");
  if (our_notes.is_object() && their_notes.is_object()) {
    for (const auto& [key, value] : our_notes.items()) {
      if (their_notes.contains(key) && their_notes[key] != value) {
        notes.push_back("the index was made with " + setting(key, value) + ", the query with " +
                        setting(key, their_notes[key]) + ": scores differ by rounding");
      }
    }
  }
  return {};
}

}  // namespace foveal::io
