// From a spool to the one file that the user asked for. The four formats hold the same: rows of
// every output, where each picture's rows begin, the files, the failures, the fingerprint.
//   safetensors  a tensor an output, row_splits.NAME (tile_splits, pixel_shapes) int64; metadata
//   files, errors,
//                fingerprint, embed
//   npz          the same names as .npy members (stored), metadata as the member metadata.json
//   npy          one output; metadata and row splits in NAME.npy.json beside it
//   jsonl        an object a picture: index, file, outputs or error, fingerprint (the content's
//   hash)
// Only pictures that were embedded take rows, and `files` names these in the order of the rows.
#pragma once

#include "io/error_json.hpp"
#include "io/spool.hpp"

#include <foveal/error.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace foveal::io {

enum class OutputFormat : std::uint8_t { kSafetensors, kNpy, kNpz, kJsonl };

// By the ending. OptionUnknown.
Result<OutputFormat> output_format(const std::filesystem::path& path);

struct OutputMetadata {
  std::string fingerprint;   // JSON object
  std::string content_hash;  // of the fingerprint
  std::string embed;  // JSON object: model and settings, so that `search` can embed its query alike
};

// Writes spool.output(). The spool stays: it is the caller's to remove. OutputUnwritable,
// ShapeMismatch.
Status write_output(const Spool& spool, OutputFormat format, const OutputMetadata& metadata);

// For the writers.

// One array of the output: the rows of a column of the spool, or integers made from the records.
struct OutputArray {
  std::string name;
  bool integers = false;
  std::vector<std::int64_t> shape{};
  std::int64_t column = -1;  // of the spool; -1: `values`
  std::vector<std::int64_t> values{};
  std::int64_t bytes() const;
};

struct OutputLayout {
  Json files = Json::array();   // names of the pictures that have rows
  Json errors = Json::array();  // {"index", "file", "error": {...}}
  std::vector<OutputArray> arrays;
};

Result<OutputLayout> layout_of(const Spool& spool);
Status write_safetensors(const Spool& spool, const OutputMetadata& metadata, File& to);
Status write_npz(const Spool& spool, const OutputMetadata& metadata, File& to);
// Fills `sidecar` with the text of NAME.npy.json.
Status write_npy(const Spool& spool, const OutputMetadata& metadata, File& to,
                 std::string& sidecar);
Status write_jsonl(const Spool& spool, const OutputMetadata& metadata, File& to);

// The bytes of an array, appended to `to`; returns their CRC-32 together with what `crc` stood for.
Result<std::uint32_t> append_array(const Spool& spool, const OutputArray& array, File& to,
                                   std::uint32_t crc = 0);

// One line of .jsonl, with its newline. `error`: JSON text, or empty.
std::string jsonl_line(const PictureOutput& picture, std::string_view error,
                       std::string_view content_hash);

}  // namespace foveal::io
