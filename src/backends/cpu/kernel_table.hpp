// What an instruction set offers to the CPU backend: one function that attends a range of query
// rows of one (sequence, head), and how much scratch it wants. Plain data only: the units are
// compiled with flags of their own and must not share inline code with the rest of the program.
#pragma once

#include <cstdint>

namespace foveal::cpu {

enum class Element : std::uint8_t { kF32, kF16, kBF16 };

// One (sequence, head), query rows [row_begin, row_end) of it. Pointers stand at row 0 of the
// sequence, at the head; strides are in elements; the last dimension is contiguous.
struct AttendArgs {
  const void* q = nullptr;      // (len_q, head_dim)
  const void* k = nullptr;      // (len_k, head_dim)
  const void* v = nullptr;      // (len_k, v_head_dim)
  void* out = nullptr;          // (len_q, v_head_dim)
  float* lse = nullptr;         // (len_q) natural log; may be null
  const float* bias = nullptr;  // (len_q, len_k) added to the scaled logits; may be null
  const float* sink = nullptr;  // (1) logit; may be null
  std::int64_t q_row_stride = 0;
  std::int64_t k_row_stride = 0;
  std::int64_t v_row_stride = 0;
  std::int64_t out_row_stride = 0;
  std::int64_t bias_row_stride = 0;
  std::int64_t len_q = 0;
  std::int64_t len_k = 0;
  std::int64_t row_begin = 0;
  std::int64_t row_end = 0;
  std::int64_t head_dim = 0;      // 8..256, a multiple of 8
  std::int64_t v_head_dim = 0;    // the same
  std::int64_t window_left = 0;   // keys before a query's position; kUnbounded
  std::int64_t window_right = 0;  // keys after it; kUnbounded
  float softmax_scale = 0;
  float softcap = 0;                // 0: none
  Element element = Element::kF32;  // of q, k, v and out
};

// More than any position, small enough to be added to one.
inline constexpr std::int64_t kUnbounded = std::int64_t{1} << 40;

// What the lane attends after this, with the same strides: a hint, so that its rows are on their
// way. Null: none.
struct NextRows {
  const void* q = nullptr;
  const void* k = nullptr;
  const void* v = nullptr;
  std::int64_t len_q = 0;
  std::int64_t len_k = 0;
};

// What decides the scratch of one lane.
struct ScratchShape {
  std::int64_t head_dim = 0;
  std::int64_t v_head_dim = 0;
  std::int64_t max_len_k = 0;  // longest sequence, tokens
  std::int64_t biases = 0;     // 0 or 1
};

struct KernelTable {
  const char* name;
  std::int64_t tile_rows;  // items should start at multiples of this
  std::int64_t (*scratch_bytes)(const ScratchShape& shape);
  // scratch: scratch_bytes, 64-byte aligned, contents irrelevant before and after.
  void (*attend)(const AttendArgs& args, const NextRows& next, void* scratch);
};

extern const KernelTable kGenericTable;
extern const KernelTable kAvx512Table;

}  // namespace foveal::cpu
