#include "io/write_output.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace foveal::io {
namespace {

// Outputs that are one row a picture by nature: their splits say nothing unless some picture has
// more.
constexpr std::array<std::string_view, 4> kOneRow{"pooled", "grid_thw", "image_sizes",
                                                  "spatial_shapes"};

bool one_row_by_nature(std::string_view name) {
  return std::find(kOneRow.begin(), kOneRow.end(), name) != kOneRow.end();
}

// What is known of a column after all records.
struct ColumnLayout {
  std::string name;
  bool integers = false;
  std::vector<std::int64_t> row;  // extents behind the rows; (3, H, W) of whole pictures
  std::vector<std::vector<std::int64_t>> shapes;  // of whole pictures, kept only while they differ
  std::vector<std::int64_t> splits{0};            // rows, (pictures + 1)
  bool pictures = false;  // a block is one whole picture (3, H, W), not rows
  bool ragged = false;    // whole pictures of several sizes: flat values
};

std::int64_t numel(std::span<const std::int64_t> shape) {
  std::int64_t n = 1;
  for (const std::int64_t extent : shape) {
    n *= extent;
  }
  return n;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string out = "(";
  for (const std::int64_t extent : shape) {
    out += (out.size() > 1 ? ", " : "") + std::to_string(extent);
  }
  return out + ")";
}

// Adds a picture's block; the column's splits have an entry for each picture before it.
Status add(ColumnLayout& column, const SpooledBlock& block) {
  const std::span shape(block.shape);
  column.pictures = shape.size() == 3 && block.name == "pixel_values";
  const std::span row = column.pictures || shape.empty() ? shape : shape.subspan(1);
  const bool first = column.splits.back() == 0;
  if (first) {
    column.row.assign(row.begin(), row.end());
  } else if (!std::equal(row.begin(), row.end(), column.row.begin(), column.row.end())) {
    if (!column.pictures) {
      return Error(ErrorCode::kShapeMismatch, {{"tensor", block.name},
                                               {"got", shape_text(row) + " a row"},
                                               {"expected", shape_text(column.row) + " a row"}});
    }
    column.ragged = true;
  }
  if (column.pictures) {
    column.shapes.push_back(block.shape);
  }
  column.splits.push_back(column.splits.back() + (column.pictures || shape.empty() ? 1 : shape[0]));
  return {};
}

std::string splits_name(const ColumnLayout& column) {
  return column.name == "pixel_values" && column.row.size() == 3 ? std::string("tile_splits")
                                                                 : "row_splits." + column.name;
}

void add_arrays(const ColumnLayout& column, std::int64_t index, std::vector<OutputArray>& arrays) {
  const auto pictures = static_cast<std::int64_t>(column.splits.size()) - 1;
  OutputArray rows{.name = column.name, .integers = column.integers, .column = index};
  if (column.ragged) {
    OutputArray shapes{.name = "pixel_shapes", .integers = true, .shape = {pictures, 3}};
    OutputArray splits{.name = "row_splits." + column.name,
                       .integers = true,
                       .shape = {pictures + 1},
                       .values = {0}};
    for (const auto& shape : column.shapes) {
      shapes.values.insert(shapes.values.end(), shape.begin(), shape.end());
      splits.values.push_back(splits.values.back() + numel(shape));
    }
    rows.shape = {splits.values.back()};
    arrays.push_back(std::move(rows));
    arrays.push_back(std::move(shapes));
    arrays.push_back(std::move(splits));
    return;
  }
  rows.shape = {column.splits.back()};
  rows.shape.insert(rows.shape.end(), column.row.begin(), column.row.end());
  arrays.push_back(std::move(rows));
  const bool one_each =
      column.splits.back() == pictures &&
      std::adjacent_find(column.splits.begin(), column.splits.end()) == column.splits.end();
  if (!column.pictures && !(one_each && one_row_by_nature(column.name))) {
    arrays.push_back({.name = splits_name(column),
                      .integers = true,
                      .shape = {pictures + 1},
                      .values = column.splits});
  }
}

// NAME.npy.json, by way of the spool's folder: what an ended process leaves there is found again.
Status write_beside(const Spool& spool, std::string_view text) {
  FOVEAL_TRY(const std::filesystem::path target, output_target(spool.output().string() + ".json"));
  FOVEAL_TRY(AtomicFile file, AtomicFile::create(spool.folder() / "output.json", target));
  FOVEAL_TRY_STATUS(file.file().write(text));
  return file.commit();
}

}  // namespace

std::int64_t OutputArray::bytes() const {
  return numel(shape) * (integers ? 8 : 4);
}

Result<OutputFormat> output_format(const std::filesystem::path& path) {
  constexpr std::array<std::pair<std::string_view, OutputFormat>, 4> kEndings{
      {{".safetensors", OutputFormat::kSafetensors},
       {".npy", OutputFormat::kNpy},
       {".npz", OutputFormat::kNpz},
       {".jsonl", OutputFormat::kJsonl}}};
  const std::string ending = path.extension().string();
  const auto it = std::find_if(kEndings.begin(), kEndings.end(),
                               [&](const auto& row) { return row.first == ending; });
  if (it == kEndings.end()) {
    return Error(ErrorCode::kOptionUnknown,
                 {{"option", "-o"},
                  {"value", path.string()},
                  {"expected", "NAME.safetensors, NAME.npz, NAME.npy, NAME.jsonl"}});
  }
  return it->second;
}

Result<OutputLayout> layout_of(const Spool& spool) {
  OutputLayout out;
  std::vector<ColumnLayout> columns;
  std::size_t pictures = 0;
  const auto visit = [&](const JournalRecord& record) -> Status {
    if (!record.error.empty()) {
      out.errors.push_back({{"index", record.index},
                            {"file", record.file},
                            {"error", Json::parse(record.error, nullptr, false)}});
      return {};
    }
    out.files.push_back(record.file);
    for (const SpooledBlock& block : record.blocks) {
      if (block.column >= columns.size()) {
        columns.resize(block.column + 1);
      }
      ColumnLayout& column = columns[block.column];
      column.name = block.name;
      column.integers = block.integers;
      column.splits.resize(pictures + 1, column.splits.back());  // pictures that lack this output
      FOVEAL_TRY_STATUS(add(column, block));
    }
    ++pictures;
    return {};
  };
  FOVEAL_TRY_STATUS(spool.for_each(visit));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    columns[i].splits.resize(pictures + 1, columns[i].splits.back());
    add_arrays(columns[i], static_cast<std::int64_t>(i), out.arrays);
  }
  return out;
}

Result<std::uint32_t> append_array(const Spool& spool, const OutputArray& array, File& to,
                                   std::uint32_t crc) {
  if (array.column >= 0) {
    return append_file(spool.column(static_cast<std::size_t>(array.column)), array.bytes(), to,
                       crc);
  }
  const auto bytes = std::as_bytes(std::span(array.values));
  FOVEAL_TRY_STATUS(to.write(bytes));
  return crc32_of(bytes, crc);
}

Status write_output(const Spool& spool, OutputFormat format, const OutputMetadata& metadata) {
  const auto write = [&]() -> Status {
    FOVEAL_TRY(AtomicFile file, AtomicFile::create(spool.folder() / "output", spool.output()));
    std::string sidecar;
    switch (format) {
      case OutputFormat::kSafetensors:
        FOVEAL_TRY_STATUS(write_safetensors(spool, metadata, file.file()));
        break;
      case OutputFormat::kNpz:
        FOVEAL_TRY_STATUS(write_npz(spool, metadata, file.file()));
        break;
      case OutputFormat::kNpy:
        FOVEAL_TRY_STATUS(write_npy(spool, metadata, file.file(), sidecar));
        FOVEAL_TRY_STATUS(write_beside(spool, sidecar));
        break;
      case OutputFormat::kJsonl:
        FOVEAL_TRY_STATUS(write_jsonl(spool, metadata, file.file()));
        break;
    }
    return file.commit();
  };
  Status written = write();
  if (!written && written.error().code() == ErrorCode::kOutputUnwritable) {
    return unwritable(spool.output(), written.error().field("reason")->text());
  }
  return written;
}

}  // namespace foveal::io
