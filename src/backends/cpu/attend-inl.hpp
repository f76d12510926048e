// Attention of one (sequence, head) over a range of query rows; built once per instruction set,
// inside the unit that defines the vector type S (its members: the end of this comment).
//
// Vector lanes are queries. A tile of up to kMaxVecs * kLanes queries is loaded once and
// transposed; keys come in blocks of kKeyBlock. For each block: scores (keys x queries) = K Q^T
// with k broadcast, then a running maximum and the exponential down the lanes, then outputs (dims x
// queries) += V^T P with v broadcast. So the softmax needs no sum across lanes, head dims and key
// counts are exact (only queries are padded to a vector), and each value of K and V that comes from
// the L2 cache serves a whole tile. Keys and values are expanded to float32 in dense rows a chunk
// at a time; a chunk serves several tiles. Scratch: one chunk, one block of scores, and the state
// of the tiles that share a chunk.
//
// The bits of a row depend on its sequence, its own position and the head dims alone: not on the
// tile it is in, since lanes do not meet, nor on the chunks, whose ends are ends of key blocks.
//
// Logits are kept times log2(e), so that 2^x serves as the exponential; the factor is in Q.
//
// S offers: V, kLanes, kMaxVecs, keys_at_once(vecs), dims_at_once(vecs); zero set load store
// broadcast add mul sub div fma max exp2, select_less(a, b, x, y) = a < b ? x : y, keep_between(x,
// i, begin, end): lanes with begin <= i < end, else -inf; pack_transposed, store_transposed,
// copy_rows.
#pragma once

#include "backends/cpu/products-inl.hpp"
#include "backends/cpu/softmax-inl.hpp"

namespace foveal::cpu {
namespace {

// One chunk of keys, [begin, end) of the sequence, dense in k and v.
struct Chunk {
  const float* k;
  const float* v;
  std::int64_t begin;
  std::int64_t end;
};

template <class S, int kVecs>
void attend_chunk(const AttendArgs& a, Tile& t, const Chunk& chunk, Scratch& work) {
  for (std::int64_t j = chunk.begin; j < chunk.end; j += kKeyBlock) {
    const std::int64_t keys = least(kKeyBlock, chunk.end - j);
    if (j + keys <= t.union_begin || j >= t.union_end) {
      continue;
    }
    for (int n = 0; n < kVecs; ++n) {
      S::store(work.max + n * S::kLanes, S::load(t.max + n * S::kLanes));
    }
    const float* k = chunk.k + (j - chunk.begin) * a.head_dim;
    score_block<S, kVecs>(k, keys, a.head_dim, t.qt, work.scores, work.max, work.ahead);
    if (a.bias != nullptr) {
      for (int n = 0; n < kVecs; ++n) {
        const std::int64_t row = t.row + n * S::kLanes;
        S::pack_transposed({Element::kF32, a.bias + row * a.bias_row_stride + j, a.bias_row_stride,
                            least(S::kLanes, t.row + t.rows - row), keys},
                           kLog2e, work.bias + n * S::kLanes, kVecs * S::kLanes);
      }
    }
    if (a.softcap > 0 || a.bias != nullptr || j < t.common_begin || j + keys > t.common_end) {
      special_pass<S, kVecs>(t, {a.softcap, a.bias == nullptr ? nullptr : work.bias}, j, keys,
                             work.scores, work.max);
    }
    softmax_block<S, kVecs>(t, keys, work.max, work.scores, work.rescale);
    add_values_block<S, kVecs>(chunk.v + (j - chunk.begin) * a.v_head_dim, a.v_head_dim, keys,
                               work.scores, t.fresh ? nullptr : work.rescale, t.ot, work.ahead);
    t.fresh = false;
  }
}

// The instance for the number of vectors that a tile has.
template <class S, int kVecs>
void attend_chunk_any(const AttendArgs& a, Tile& t, const Chunk& chunk, Scratch& work) {
  if (t.vecs == kVecs) {
    attend_chunk<S, kVecs>(a, t, chunk, work);
  } else if constexpr (kVecs > 1) {
    attend_chunk_any<S, kVecs - 1>(a, t, chunk, work);
  }
}

// Element address; pointers may be null where the offset is 0.
const char* element_at(const void* base, Element e, std::int64_t offset) {
  return static_cast<const char*>(base) + offset * (e == Element::kF32 ? 4 : 2);
}

// The keys that each query sees. Lanes past the last query see what the first sees, so that they
// force no limits; nothing of them is stored.
template <class S>
void set_limits(const AttendArgs& a, Tile& t) {
  t.union_begin = a.len_k;
  t.union_end = 0;
  t.common_begin = 0;
  t.common_end = a.len_k;
  for (std::int64_t i = 0; i < t.vecs * S::kLanes; ++i) {
    const std::int64_t position = t.row + (i < t.rows ? i : 0) + a.len_k - a.len_q;
    const std::int64_t begin = most(0, position - a.window_left);
    const std::int64_t end = most(0, least(a.len_k, position + a.window_right + 1));
    t.key_begin[i] = static_cast<std::int32_t>(least(begin, a.len_k));
    t.key_end[i] = static_cast<std::int32_t>(end);
    if (begin < end) {
      t.union_begin = least(t.union_begin, begin);
      t.union_end = most(t.union_end, end);
    }
    t.common_begin = most(t.common_begin, begin);
    t.common_end = least(t.common_end, end);
  }
}

template <class S>
void begin_tile(const AttendArgs& a, std::int64_t row, Tile& t) {
  constexpr std::int64_t kLanes = S::kLanes;
  t.row = row;
  t.rows = least(kLanes * S::kMaxVecs, a.row_end - row);
  t.vecs = (t.rows + kLanes - 1) / kLanes;
  t.fresh = true;
  set_limits<S>(a, t);
  const float factor = a.softcap > 0 ? a.softmax_scale / a.softcap : a.softmax_scale * kLog2e;
  for (std::int64_t n = 0; n < t.vecs; ++n) {
    const std::int64_t first = row + n * kLanes;
    S::pack_transposed({a.element, element_at(a.q, a.element, first * a.q_row_stride),
                        a.q_row_stride, least(kLanes, row + t.rows - first), a.head_dim},
                       factor, t.qt + n * kLanes, t.vecs * kLanes);
    S::store(t.max + n * kLanes, S::set(-kInfinity));
    S::store(t.sum + n * kLanes, S::zero());
  }
}

// Divides by the sum, sink included, and writes out and lse.
template <class S>
void end_tile(const AttendArgs& a, const Tile& t) {
  using V = typename S::V;
  constexpr std::int64_t kLanes = S::kLanes;
  const float sink = a.sink == nullptr ? -kInfinity : *a.sink * kLog2e;
  for (std::int64_t n = 0; n < t.vecs; ++n) {
    const std::int64_t first = t.row + n * kLanes;
    const std::int64_t rows = least(kLanes, t.row + t.rows - first);
    V max = S::load(t.max + n * kLanes);
    V sum = S::load(t.sum + n * kLanes);
    V factor = S::set(1.0F);
    if (a.sink != nullptr) {
      const V top = S::max(max, S::set(sink));
      const V shift = S::select_less(top, S::set(-3.0e38F), S::zero(), top);
      factor = S::exp2(S::sub(max, shift));
      sum = S::fma(sum, factor, S::exp2(S::sub(S::set(sink), shift)));
      max = top;
    }
    // A sum of 0 (no key, no sink) leaves the outputs 0; NaN passes.
    const V inverse = S::select_less(sum, S::set(1.0e-37F), S::zero(), S::div(factor, sum));
    S::store(t.max + n * kLanes, max);
    S::store(t.sum + n * kLanes, sum);
    if (t.fresh) {
      for (std::int64_t c = 0; c < a.v_head_dim; ++c) {
        S::store(t.ot + (c * t.vecs + n) * kLanes, S::zero());
      }
    }
    const std::int64_t offset = first * a.out_row_stride * (a.element == Element::kF32 ? 4 : 2);
    S::store_transposed(
        t.ot + n * kLanes, t.vecs * kLanes, inverse,
        {a.element, static_cast<char*>(a.out) + offset, a.out_row_stride, rows, a.v_head_dim});
  }
  if (a.lse != nullptr) {
    for (std::int64_t i = 0; i < t.rows; ++i) {
      const double sum = static_cast<double>(t.sum[i]);
      const double value = static_cast<double>(t.max[i]) * kLn2 + __builtin_log(sum);
      a.lse[t.row + i] = sum == 0.0 ? -kInfinity : static_cast<float>(value);
    }
  }
}

template <class S>
std::int64_t scratch_bytes_of(const ScratchShape& shape) {
  Scratch counted{};
  return lay_out(shape, blocking_for(shape, kTileRows<S>), kTileRows<S>, {nullptr, 0}, counted);
}

// The rows of the next call, and those that this one will write.
Ahead ahead_of(const AttendArgs& a, const NextRows& next) {
  const std::int64_t size = a.element == Element::kF32 ? 4 : 2;
  const auto stream = [size](const void* at, std::int64_t stride, std::int64_t cols,
                             std::int64_t rows) {
    return Stream{static_cast<const char*>(at), stride * size, cols * size,
                  at == nullptr ? 0 : least(rows, Ahead::kMostRows)};
  };
  return {{stream(element_at(a.out, a.element, a.row_begin * a.out_row_stride), a.out_row_stride,
                  a.v_head_dim, a.row_end - a.row_begin),
           stream(next.k, a.k_row_stride, a.head_dim, next.len_k),
           stream(next.v, a.v_row_stride, a.v_head_dim, next.len_k),
           stream(next.q, a.q_row_stride, a.head_dim, next.len_q)}};
}

template <class S>
void attend_rows(const AttendArgs& a, const NextRows& next, void* memory) {
  const ScratchShape shape{a.head_dim, a.v_head_dim, a.len_k, a.bias == nullptr ? 0 : 1};
  const Blocking blocking = blocking_for(shape, kTileRows<S>);
  Scratch work{};
  lay_out(shape, blocking, kTileRows<S>, {static_cast<float*>(memory), 0}, work);
  work.ahead = ahead_of(a, next);
  std::int64_t packed = -1;  // first key of the chunk that is in k and v
  for (std::int64_t row = a.row_begin; row < a.row_end; row += blocking.tiles * kTileRows<S>) {
    const std::int64_t count =
        least(blocking.tiles, (a.row_end - row + kTileRows<S> - 1) / kTileRows<S>);
    std::int64_t begin = a.len_k;
    std::int64_t end = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      begin_tile<S>(a, row + i * kTileRows<S>, work.tiles[i]);
      begin = least(begin, work.tiles[i].union_begin);
      end = most(end, work.tiles[i].union_end);
    }
    for (std::int64_t first = begin / most(blocking.chunk_keys, 1) * blocking.chunk_keys;
         first < end; first += blocking.chunk_keys) {
      const Chunk chunk{work.k, work.v, first, least(first + blocking.chunk_keys, a.len_k)};
      if (packed != first) {
        const std::int64_t keys = chunk.end - first;
        S::copy_rows({a.element, element_at(a.k, a.element, first * a.k_row_stride), a.k_row_stride,
                      keys, a.head_dim},
                     work.k);
        S::copy_rows({a.element, element_at(a.v, a.element, first * a.v_row_stride), a.v_row_stride,
                      keys, a.v_head_dim},
                     work.v);
        packed = first;
      }
      for (std::int64_t i = 0; i < count; ++i) {
        attend_chunk_any<S, S::kMaxVecs>(a, work.tiles[i], chunk, work);
      }
    }
    for (std::int64_t i = 0; i < count; ++i) {
      end_tile<S>(a, work.tiles[i]);
    }
  }
}

}  // namespace
}  // namespace foveal::cpu
