// Cost model: a query row costs its keys plus a constant for what is done once a row. How items are
// cut never changes a result: rows are independent of each other, and keys are never split.
#include "backends/cpu/work_list.hpp"

#include <algorithm>

namespace foveal::cpu {
namespace {

// Loading, transposing and storing a row costs about as much as this many keys.
constexpr double kRowOverhead = 16;
// An item of fewer products than this (about 50 us) would be mostly bookkeeping: smaller ones are
// joined.
constexpr double kLeastProducts = 4e6;
// Each range of rows packs the keys again: 256 rows keep that to a few percent.
constexpr std::int64_t kLeastRows = 256;
// Items a thread: the last one to finish keeps the others waiting for at most a share of this.
constexpr double kItemsPerThread = 8;

struct Costed {
  Item item;
  double cost = 0;  // (row, key, head) triples; 64 bits could overflow
};

class Cutter {
 public:
  Cutter(const AttentionProblem& problem, Cutting cutting) : p_(problem), cutting_(cutting) {
    double total = 0;
    for (std::int64_t b = 0; b < p_.q_seqs.size(); ++b) {
      total += all_heads(b);
    }
    least_ = kLeastProducts / static_cast<double>(p_.heads.head_dim + p_.heads.v_head_dim);
    // One thread gains nothing by small items.
    const double shares =
        cutting_.threads == 1 ? 1 : static_cast<double>(cutting_.threads) * kItemsPerThread;
    most_ = std::max(total / shares, least_);
  }

  std::vector<Costed> cut() {
    std::int64_t begin = 0;
    double joined = 0;
    for (std::int64_t b = 0; b < p_.q_seqs.size(); ++b) {
      const double cost = all_heads(b);
      if (cost > least_) {
        join(begin, b, joined);
        cut_sequence(b);
      } else {
        joined += cost;
        if (joined < least_) {
          continue;
        }
        join(begin, b + 1, joined);
      }
      begin = b + 1;
      joined = 0;
    }
    join(begin, p_.q_seqs.size(), joined);
    return std::move(out_);
  }

 private:
  double per_row(std::int64_t b) const {
    return static_cast<double>(p_.k_seqs[b].length.v) + kRowOverhead;
  }
  double per_head(std::int64_t b) const {
    return static_cast<double>(p_.q_seqs[b].length.v) * per_row(b);
  }
  double all_heads(std::int64_t b) const {
    return per_head(b) * static_cast<double>(p_.heads.num_heads);
  }

  void join(std::int64_t begin, std::int64_t end, double cost) {
    if (cost > 0) {
      out_.push_back({{.seq_begin = static_cast<std::int32_t>(begin),
                       .seq_end = static_cast<std::int32_t>(end),
                       .head_begin = 0,
                       .head_end = static_cast<std::int32_t>(p_.heads.num_heads)},
                      cost});
    }
  }

  // By heads first; by rows where one head is still too much.
  void cut_sequence(std::int64_t b) {
    const std::int64_t rows = p_.q_seqs[b].length.v;
    const std::int64_t num_heads = p_.heads.num_heads;
    const double fit = std::min(most_, 2 * least_) / per_head(b);
    const std::int64_t parts =
        fit < 1 ? num_heads : static_cast<std::int64_t>(static_cast<double>(num_heads) / fit) + 1;
    const std::int64_t heads = std::max<std::int64_t>(1, (num_heads + parts - 1) / parts);
    std::int64_t row_step = rows;
    if (per_head(b) > most_) {
      const std::int64_t tile = cutting_.tile_rows;
      const std::int64_t wanted =
          std::max(static_cast<std::int64_t>(most_ / per_row(b)), kLeastRows);
      row_step = std::min(rows, (wanted + tile - 1) / tile * tile);
    }
    for (std::int64_t h = 0; h < num_heads; h += heads) {
      const std::int64_t head_end = std::min(h + heads, num_heads);
      for (std::int64_t r = 0; r < rows; r += row_step) {
        const std::int64_t row_end = std::min(r + row_step, rows);
        out_.push_back({{.seq_begin = static_cast<std::int32_t>(b),
                         .seq_end = static_cast<std::int32_t>(b + 1),
                         .head_begin = static_cast<std::int32_t>(h),
                         .head_end = static_cast<std::int32_t>(head_end),
                         .row_begin = static_cast<std::int32_t>(r),
                         .row_end = static_cast<std::int32_t>(row_end)},
                        static_cast<double>((row_end - r) * (head_end - h)) * per_row(b)});
      }
    }
  }

  const AttentionProblem& p_;
  Cutting cutting_;
  double least_ = 1;
  double most_ = 1;
  std::vector<Costed> out_;
};

}  // namespace

std::vector<Item> make_work_list(const AttentionProblem& problem, Cutting cutting) {
  std::vector<Costed> costed = Cutter(problem, cutting).cut();
  std::stable_sort(costed.begin(), costed.end(),
                   [](const Costed& a, const Costed& b) { return a.cost > b.cost; });
  std::vector<Item> items;
  items.reserve(costed.size());
  for (const Costed& c : costed) {
    items.push_back(c.item);
  }
  return items;
}

}  // namespace foveal::cpu
