// The index that `search` reads: the `pooled` vectors of what `embed` wrote (.safetensors, .npz,
// .npy with its .json), the files they belong to, and the fingerprint that says which vectors may
// be compared.
#pragma once

#include "tensor/safetensors.hpp"

#include <foveal/error.hpp>

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foveal::io {

struct Hit {
  std::int64_t row = 0;
  double score = 0;  // cosine, -1..1
};

// Memory-mapped; move-only.
class VectorIndex {
 public:
  // IndexUnreadable, with what the reader of the format found as cause.
  static Result<VectorIndex> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const { return path_; }
  std::int64_t rows() const { return rows_; }
  std::int64_t dim() const { return dim_; }
  const std::vector<std::string>& files() const { return files_; }  // (rows)
  // JSON texts as `embed` wrote them; empty where they are missing.
  const std::string& fingerprint() const { return fingerprint_; }
  const std::string& embed() const { return embed_; }

  // The k nearest by cosine, best first, equal scores by row. Rows that are zero or not finite
  // never match. query: (dim()), else IndexMismatch.
  Result<std::vector<Hit>> nearest(std::span<const float> query, std::int64_t k) const;

  // Whether vectors of `fingerprint` (of `who`, for the error) may be compared with this index.
  // IndexMismatch names the first setting that differs; differing notes are appended to `notes`, a
  // sentence each.
  Status comparable_with(std::string_view fingerprint, std::string_view who,
                         std::vector<std::string>& notes) const;

 private:
  VectorIndex(std::filesystem::path path, MappedFile file)
      : path_(std::move(path)), file_(std::move(file)) {}
  Status read_safetensors();
  Status read_npy();
  Status read_npz();
  Status set_metadata(std::string_view files, std::string_view fingerprint, std::string_view embed);
  Status set_vectors(std::span<const std::byte> data, std::span<const std::int64_t> shape);
  Error unreadable(std::string reason) const;

  std::filesystem::path path_;
  MappedFile file_;
  std::span<const std::byte> data_;  // (rows, dim) f32 in file_, perhaps unaligned
  std::int64_t rows_ = 0;
  std::int64_t dim_ = 0;
  std::vector<std::string> files_;
  std::string fingerprint_;
  std::string embed_;
};

}  // namespace foveal::io
