// The work of a plan, cut into items that threads take one by one.
#pragma once

#include <foveal/attention/plan.hpp>

#include <cstdint>
#include <vector>

namespace foveal::cpu {

// Sequences [seq_begin, seq_end) with all of their rows (row_end 0), or rows [row_begin, row_end)
// of a single one; each with heads [head_begin, head_end).
struct Item {
  std::int32_t seq_begin = 0;
  std::int32_t seq_end = 0;
  std::int32_t head_begin = 0;
  std::int32_t head_end = 0;
  std::int32_t row_begin = 0;
  std::int32_t row_end = 0;
};

struct Cutting {
  std::int64_t threads = 1;
  std::int64_t tile_rows = 1;  // rows are cut at multiples of this
};

// Longest first. Sequences without queries have no item.
std::vector<Item> make_work_list(const AttentionProblem& problem, Cutting cutting);

}  // namespace foveal::cpu
