#include "io/spool.hpp"

#include "io/error_json.hpp"

#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace foveal::io {
namespace {

constexpr std::string_view kJournal = "journal";
constexpr std::string_view kColumn = "column";     // column0, column1 ...
constexpr std::string_view kAssembled = "output";  // the final file before it is renamed

// Removes what a run leaves and nothing else, should somebody keep files of their own in there.
void clear(const std::filesystem::path& folder, bool journal_too) {
  std::error_code ignored;
  if (journal_too) {  // first: rows without a journal are known to be left over
    std::filesystem::remove(folder / kJournal, ignored);
  }
  std::error_code failed;
  for (std::filesystem::directory_iterator it(folder, failed), end; !failed && it != end;
       it.increment(failed)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with(kColumn) || name.starts_with(kAssembled)) {
      std::filesystem::remove(it->path(), ignored);
    }
  }
}

std::string describe(const FileStamp& stamp) {
  return stamp.bytes < 0 ? "not there"
                         : std::to_string(stamp.bytes) + " bytes of time " +
                               std::to_string(stamp.mtime_ns / 1'000'000'000);
}

}  // namespace

std::filesystem::path Spool::folder_for(const std::filesystem::path& output) {
  return output.parent_path() / ("." + output.filename().string() + ".part");
}

Error Spool::as_output_error(Error error) const {
  if (error.code() != ErrorCode::kOutputUnwritable) {
    return error;
  }
  // People know the output they asked for, not the files inside the spool.
  return unwritable(output_, error.field("reason")->text());
}

Result<Spool> Spool::open(const SpoolOptions& options) {
  FOVEAL_TRY(const std::filesystem::path output, output_target(options.output));
  const std::filesystem::path folder = folder_for(output);
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
    return unwritable(options.output, errno);
  }
  auto journal = File::open(folder / kJournal, File::Mode::kKeep);
  if (!journal) {
    return unwritable(options.output, journal.error().field("reason")->text());
  }
  if (::flock(journal->descriptor(), LOCK_EX | LOCK_NB) != 0) {
    return unwritable(options.output, "another process is writing it");
  }
  Spool spool(output, folder, *std::move(journal));
  Status ready = options.mode == SpoolMode::kResume ? spool.resume(options) : Status();
  if (ready && spool.done_ == 0) {  // also after a resume that found nothing whole
    ready = spool.begin(options.settings);
  }
  if (!ready) {
    return spool.as_output_error(std::move(ready).error());
  }
  return spool;
}

Status Spool::begin(const RunSettings& settings) {
  columns_.clear();
  clear(folder_, false);
  FOVEAL_TRY_STATUS(journal_.resize(0));
  return journal_.write(journal_line(settings));
}

Status Spool::resume(const SpoolOptions& options) {
  JournalReader reader(journal_);
  FOVEAL_TRY(const std::optional<RunSettings> before, reader.settings());
  if (!before) {
    return {};
  }
  const auto mismatch = [&](std::string_view what, std::string got, std::string expected) {
    return Error(ErrorCode::kResumeMismatch, {{"file", folder_.string()},
                                              {"what", what},
                                              {"got", std::move(got)},
                                              {"expected", std::move(expected)}});
  };
  for (const auto& [name, value] : options.settings) {
    const auto it =
        std::find_if(before->begin(), before->end(),
                     [&, &setting = name](const auto& old) { return old.first == setting; });
    const std::string old = it == before->end() ? std::string("absent") : it->second;
    if (old != value) {
      return mismatch(name, old, value);
    }
  }
  std::int64_t good_end = reader.end();
  for (;;) {
    FOVEAL_TRY(const std::optional<JournalRecord> record, reader.next());
    if (!record || record->index != done_ ||
        record->index >= static_cast<std::int64_t>(options.pictures.size())) {
      break;
    }
    const std::string& path = options.pictures[static_cast<std::size_t>(record->index)];
    if (const FileStamp now = stamp_of(path); now != record->stamp) {
      return mismatch("the picture " + path, describe(record->stamp), describe(now));
    }
    FOVEAL_TRY(const bool whole, rows_are_whole(*record));
    if (!whole) {
      break;
    }
    for (const SpooledBlock& block : record->blocks) {
      FOVEAL_TRY(const std::size_t c, column_for(block.name, block.integers, File::Mode::kKeep));
      columns_[c].size += block.bytes();
    }
    ++done_;
    failed_ += record->error.empty() ? 0 : 1;
    good_end = reader.end();
  }
  FOVEAL_TRY_STATUS(journal_.resize(good_end));
  for (Column& column : columns_) {
    FOVEAL_TRY_STATUS(column.file.resize(column.size));
  }
  return {};
}

Result<bool> Spool::rows_are_whole(const JournalRecord& record) const {
  std::vector<std::byte> rows;
  std::size_t next_new = columns_.size();
  for (const SpooledBlock& block : record.blocks) {
    const bool known = block.column < columns_.size();
    if (known ? columns_[block.column].name != block.name : block.column != next_new++) {
      return false;
    }
    const std::filesystem::path path =
        folder_ / (std::string(kColumn) + std::to_string(block.column));
    std::error_code missing;
    if (!std::filesystem::exists(path, missing)) {
      return false;
    }
    FOVEAL_TRY(const File file, File::open(path, File::Mode::kReadOnly));
    const std::int64_t begin = known ? columns_[block.column].size : 0;
    FOVEAL_TRY(const std::int64_t size, file.size());
    if (block.bytes() < 0 || size - begin < block.bytes()) {
      return false;
    }
    rows.resize(static_cast<std::size_t>(block.bytes()));
    FOVEAL_TRY(const std::size_t got, file.read_at(begin, rows));
    if (got != rows.size() || crc32_of(rows) != block.crc) {
      return false;
    }
  }
  return true;
}

Result<std::size_t> Spool::column_for(std::string_view name, bool integers, File::Mode mode) {
  const auto it = std::find_if(columns_.begin(), columns_.end(),
                               [&](const Column& c) { return c.name == name; });
  if (it != columns_.end()) {
    return static_cast<std::size_t>(it - columns_.begin());
  }
  FOVEAL_TRY(File file,
             File::open(folder_ / (std::string(kColumn) + std::to_string(columns_.size())), mode));
  columns_.push_back({.name = std::string(name), .integers = integers, .file = std::move(file)});
  return columns_.size() - 1;
}

Status Spool::append(const PictureOutput& picture) {
  JournalRecord record{
      .index = picture.index,
      .file = std::string(picture.file),
      .stamp = picture.stamp,
      .error = picture.error != nullptr ? dump(to_json(*picture.error)) : std::string()};
  std::vector<std::int64_t> grown(columns_.size(), 0);
  for (const OutputBlock& block : picture.blocks) {
    const bool integers = !block.integers.empty();
    const auto bytes = integers ? std::as_bytes(block.integers) : std::as_bytes(block.values);
    auto column = column_for(block.name, integers, File::Mode::kTruncate);
    if (!column) {
      return as_output_error(std::move(column).error());
    }
    grown.resize(columns_.size(), 0);
    if (Status written = columns_[*column].file.write(bytes); !written) {
      return as_output_error(std::move(written).error());
    }
    grown[*column] += static_cast<std::int64_t>(bytes.size());
    record.blocks.push_back({.column = *column,
                             .name = std::string(block.name),
                             .integers = integers,
                             .shape = {block.shape.begin(), block.shape.end()},
                             .crc = crc32_of(bytes)});
  }
  // The record comes last: it vouches for the rows.
  if (Status written = journal_.write(journal_line(record)); !written) {
    return as_output_error(std::move(written).error());
  }
  for (std::size_t i = 0; i < grown.size(); ++i) {
    columns_[i].size += grown[i];
  }
  ++done_;
  failed_ += picture.error != nullptr ? 1 : 0;
  return {};
}

Status Spool::for_each(const std::function<Status(const JournalRecord&)>& visit) const {
  JournalReader reader(journal_);
  FOVEAL_TRY(const std::optional<RunSettings> settings, reader.settings());
  for (std::int64_t i = 0; settings && i < done_; ++i) {
    FOVEAL_TRY(const std::optional<JournalRecord> record, reader.next());
    if (!record) {
      return unwritable(output_,
                        "the journal in " + folder_.string() + " was damaged while it was in use");
    }
    FOVEAL_TRY_STATUS(visit(*record));
  }
  return {};
}

void Spool::remove() {
  clear(folder_, true);
  std::error_code ignored;
  std::filesystem::remove(folder_, ignored);  // stays where somebody put files into it
}

}  // namespace foveal::io
