// Metadata of packed sequences: what lies where in a (T, num_heads, head_dim) tensor. One immutable
// value, checked once when it is made; every derived form comes from it and cannot be set from
// outside.
#pragma once

#include <foveal/error.hpp>
#include <foveal/tensor_view.hpp>
#include <foveal/units.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace foveal {

// Rows of one sequence, [begin, begin + length).
struct Sequence {
  Tokens begin;
  Tokens length;
};

// Lengths of B packed sequences. B = 0, T = 0 and empty sequences are valid. Copies share the data.
class PackedSeqs {
 public:
  // Of all sequences together: cu_seqlens is int32.
  static constexpr std::int64_t kMaxTokens = 0x7FFFFFFF;

  // No sequence at all.
  PackedSeqs();

  // lengths: (B) tokens. LengthNegative, TooManyTokens.
  static Result<PackedSeqs> from_lengths(std::span<const std::int64_t> lengths);
  static Result<PackedSeqs> from_lengths(std::span<const std::int32_t> lengths);
  // cu_seqlens: (B+1) tokens, first 0, not decreasing.
  // CuSeqlensShape, CuSeqlensStart, CuSeqlensDecrease, TooManyTokens.
  static Result<PackedSeqs> from_cu_seqlens(std::span<const std::int32_t> cu_seqlens);
  static Result<PackedSeqs> from_cu_seqlens(std::span<const std::int64_t> cu_seqlens);
  // A host array of rank 1, int32 or int64, any stride: else CuSeqlensDtype, ShapeMismatch,
  // DeviceMismatch, TensorMissing.
  static Result<PackedSeqs> from_cu_seqlens(const ConstTensorView& cu_seqlens);

  struct Equal {
    std::int64_t batch = 0;
    Tokens seq_len;
  };
  static Result<PackedSeqs> from_equal(Equal equal);

  std::int64_t size() const { return static_cast<std::int64_t>(data_->seqlens.size()); }
  Sequence operator[](std::int64_t i) const {
    const auto b = static_cast<std::size_t>(i);
    return {Tokens(data_->cu_seqlens[b]), Tokens(data_->seqlens[b])};
  }
  std::span<const std::int32_t> cu_seqlens() const { return data_->cu_seqlens; }  // (B+1) tokens
  std::span<const std::int32_t> seqlens() const { return data_->seqlens; }        // (B) tokens
  Tokens max_seqlen() const { return data_->max_seqlen; }                         // 0 where B is 0
  Tokens total_tokens() const { return data_->total_tokens; }
  std::int64_t sum_sq() const {
    return data_->sum_sq;
  }  // sum of length^2: the cost of self attention
  friend bool operator==(const PackedSeqs& a, const PackedSeqs& b) {
    return a.data_ == b.data_ || a.data_->cu_seqlens == b.data_->cu_seqlens;
  }

 private:
  struct Data {
    std::vector<std::int32_t> cu_seqlens;
    std::vector<std::int32_t> seqlens;
    Tokens max_seqlen;
    Tokens total_tokens;
    std::int64_t sum_sq = 0;
  };
  explicit PackedSeqs(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  template <class Int>
  static Result<PackedSeqs> lengths_impl(std::span<const Int> lengths);
  template <class Int>
  static Result<PackedSeqs> cu_seqlens_impl(std::span<const Int> cu_seqlens);
  std::shared_ptr<const Data> data_;
};

// Patches of one image or clip.
struct GridThw {
  std::int64_t t = 1;  // frames (after temporal merging)
  std::int64_t h = 0;  // patches
  std::int64_t w = 0;  // patches
  friend bool operator==(const GridThw&, const GridThw&) = default;
};

struct GridOptions {
  std::int64_t merge_size = 1;  // patches per merged side; rows come in merge-block order
  // Side of a window in merged cells (Qwen2.5-VL: window_size / merge_size / patch_size); absent:
  // no windows.
  std::optional<std::int64_t> window_cells;
};

// How the rows of a batch of grids form sequences.
struct GridSeqs {
  PackedSeqs full;     // one sequence a frame
  PackedSeqs windows;  // sequences of the window order; equals `full` where there is no window rule
  // (T / merge_size^2) merged cells: cell i of the window order is cell permutation[i] of the given
  // order. Empty where there is no window rule.
  std::vector<std::int32_t> permutation;
};

// Windows never cross frames or images, are cut at the right and lower edges, and none is empty.
// GridInvalid, WindowInvalid, TooManyTokens.
Result<GridSeqs> seqs_from_grid(std::span<const GridThw> grids, const GridOptions& options);

}  // namespace foveal
