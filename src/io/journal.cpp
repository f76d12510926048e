#include "io/journal.hpp"

#include "base/narrow.hpp"
#include "io/error_json.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <utility>

namespace foveal::io {
namespace {

constexpr std::size_t kReadBytes = 1 << 16;
constexpr std::size_t kCrcDigits = 8;

std::string with_checksum(const std::string& json) {
  std::array<char, kCrcDigits + 2> crc{};
  std::snprintf(crc.data(), crc.size(), "%08x ",
                static_cast<unsigned>(crc32_of(std::as_bytes(std::span(json)))));
  return crc.data() + json + "\n";
}

}  // namespace

FileStamp stamp_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) {
    return {};
  }
  return {.bytes = static_cast<std::int64_t>(info.st_size),
          .mtime_ns = static_cast<std::int64_t>(info.st_mtim.tv_sec) * 1'000'000'000 +
                      info.st_mtim.tv_nsec};
}

std::int64_t SpooledBlock::bytes() const {
  std::optional<long long> n = integers ? 8 : 4;
  for (const std::int64_t extent : shape) {
    n = extent < 0 ? std::nullopt : checked_mul(*n, extent);
    if (!n) {
      return -1;
    }
  }
  return *n;
}

std::string journal_line(const RunSettings& settings) {
  Json list = Json::array();
  for (const auto& [name, value] : settings) {
    list.push_back({name, value});
  }
  return with_checksum(dump({{"foveal_journal", 1}, {"settings", std::move(list)}}));
}

std::string journal_line(const JournalRecord& record) {
  Json json = {{"i", record.index},
               {"file", record.file},
               {"bytes", record.stamp.bytes},
               {"mtime_ns", record.stamp.mtime_ns}};
  if (!record.error.empty()) {
    json["error"] = record.error;
  }
  Json blocks = Json::array();
  for (const SpooledBlock& b : record.blocks) {
    blocks.push_back({{"column", b.column},
                      {"name", b.name},
                      {"integers", b.integers},
                      {"shape", b.shape},
                      {"crc", b.crc}});
  }
  json["blocks"] = std::move(blocks);
  return with_checksum(dump(json));
}

Result<std::optional<std::string>> JournalReader::line() {
  std::size_t newline = buffer_.find('\n', at_);
  while (newline == std::string::npos) {
    buffer_.erase(0, std::exchange(at_, 0));
    const std::size_t had = buffer_.size();
    buffer_.resize(had + kReadBytes);
    FOVEAL_TRY(const std::size_t got,
               file_->read_at(read_, std::as_writable_bytes(std::span(buffer_).subspan(had))));
    buffer_.resize(had + got);
    read_ += static_cast<std::int64_t>(got);
    if (got == 0) {
      return std::optional<std::string>();
    }
    newline = buffer_.find('\n', had);
  }
  const std::string text = buffer_.substr(at_, newline - at_);
  std::uint32_t crc = 0;
  const auto parsed =
      std::from_chars(text.data(), text.data() + std::min(text.size(), kCrcDigits), crc, 16);
  if (text.size() < kCrcDigits + 2 || parsed.ptr != text.data() + kCrcDigits ||
      crc32_of(std::as_bytes(std::span(text).subspan(kCrcDigits + 1))) != crc) {
    return std::optional<std::string>();
  }
  end_ += static_cast<std::int64_t>(newline + 1 - at_);
  at_ = newline + 1;
  return std::optional(text.substr(kCrcDigits + 1));
}

Result<std::optional<RunSettings>> JournalReader::settings() {
  FOVEAL_TRY(const std::optional<std::string> text, line());
  if (!text) {
    return std::optional<RunSettings>();
  }
  const Json json = parse(*text);
  if (!json.is_object() || !json.contains("foveal_journal") || json["foveal_journal"] != 1 ||
      !json.contains("settings")) {
    return std::optional<RunSettings>();
  }
  RunSettings settings;
  for (const Json& pair : json["settings"]) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
      return std::optional<RunSettings>();
    }
    settings.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
  }
  return std::optional(std::move(settings));
}

Result<std::optional<JournalRecord>> JournalReader::next() {
  const std::int64_t before = end_;
  FOVEAL_TRY(const std::optional<std::string> text, line());
  if (!text) {
    return std::optional<JournalRecord>();
  }
  JournalRecord record;
  try {  // the checksum holds, so this is ours; still, nothing outside may end the process
    const Json json = parse(*text);
    record.index = json.at("i").get<std::int64_t>();
    record.file = json.at("file").get<std::string>();
    record.stamp = {.bytes = json.at("bytes").get<std::int64_t>(),
                    .mtime_ns = json.at("mtime_ns").get<std::int64_t>()};
    record.error = json.value("error", std::string());
    if (!record.error.empty() && !parse(record.error).is_object()) {
      end_ = before;
      return std::optional<JournalRecord>();
    }
    for (const Json& b : json.at("blocks")) {
      record.blocks.push_back({.column = b.at("column").get<std::size_t>(),
                               .name = b.at("name").get<std::string>(),
                               .integers = b.at("integers").get<bool>(),
                               .shape = b.at("shape").get<std::vector<std::int64_t>>(),
                               .crc = b.at("crc").get<std::uint32_t>()});
    }
  } catch (const Json::exception&) {
    end_ = before;
    return std::optional<JournalRecord>();
  }
  return std::optional(std::move(record));
}

}  // namespace foveal::io
