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
#include "backends/cpu/kernel_table.hpp"

namespace foveal::cpu {
namespace {

constexpr std::int64_t kKeyBlock = 64;
// Dense K and V of a chunk: half of a 1 MiB L2 cache, the rest is for the state of the tiles and
// the stream.
constexpr std::int64_t kChunkFloats = 512 * 1024 / 4;
// State of the tiles that share a chunk, where there are several chunks: each chunk is packed once
// for them.
constexpr std::int64_t kStateFloats = 256 * 1024 / 4;
constexpr std::int64_t kMostTiles = 32;
constexpr float kLog2e = 1.44269504F;
// 2^f for f in [0, 1), highest power first: own minimax fit, exact at 0, 8e-8 (1.5e-7 with float32
// rounding).
constexpr float kExp2Poly[] = {1.86713017e-3F, 9.01702978e-3F, 5.57999127e-2F,
                               2.40164444e-1F, 6.93151295e-1F, 1.0F};
// (tanh(x) / x - 1) / x^2 in powers of x^2 for |x| < 0.625, highest first: own minimax fit, 4e-9.
constexpr float kTanhPoly[] = {-5.70498733e-3F, 2.06390880e-2F, -5.37397154e-2F, 1.33314416e-1F,
                               -3.33332807e-1F};
constexpr double kLn2 = 0.693147180559945309;
constexpr float kInfinity = __builtin_inff();

constexpr std::int64_t least(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}
constexpr std::int64_t most(std::int64_t a, std::int64_t b) {
  return a > b ? a : b;
}

// Rows of the caller's tensors, elements of one (sequence, head).
struct Rows {
  Element element;
  const void* data;
  std::int64_t stride;  // elements from row to row
  std::int64_t rows;
  std::int64_t cols;
};
struct OutRows {
  Element element;
  void* data;
  std::int64_t stride;
  std::int64_t rows;
  std::int64_t cols;
};

// Sizes that follow from the head dims and the length of the keys.
struct Blocking {
  std::int64_t chunk_keys;  // a multiple of kKeyBlock
  std::int64_t tiles;       // that share a chunk
};

constexpr Blocking blocking_for(const ScratchShape& shape, std::int64_t tile_rows) {
  const std::int64_t dims = shape.head_dim + shape.v_head_dim;
  const std::int64_t largest = most(kChunkFloats / dims / kKeyBlock, 1) * kKeyBlock;
  const std::int64_t needed = (shape.max_len_k + kKeyBlock - 1) / kKeyBlock * kKeyBlock;
  if (needed <= largest) {  // all keys in one chunk: it stays packed while tile follows tile
    return {needed, 1};
  }
  return {largest, least(kMostTiles, most(kStateFloats / (dims * tile_rows), 1))};
}

template <class S>
constexpr std::int64_t kTileRows = S::kLanes* S::kMaxVecs;

// State of one tile of queries between chunks. All arrays have a row length of `width` queries.
struct Tile {
  float* qt;                // (head_dim, width), times the factor of the logits
  float* ot;                // (v_head_dim, width), not divided by the sum yet
  float* max;               // (width), of the logits times log2(e)
  float* sum;               // (width)
  std::int32_t* key_begin;  // (width) keys that a query sees, [begin, end)
  std::int32_t* key_end;
  std::int64_t row;          // first query
  std::int64_t rows;         // queries in it
  std::int64_t vecs;         // vectors a row of the arrays
  std::int64_t union_begin;  // keys that any query sees, [begin, end)
  std::int64_t union_end;
  std::int64_t common_begin;  // keys that all queries see, [begin, end)
  std::int64_t common_end;
  bool fresh;  // no block has been added: `ot` is not yet written
};

// Hands out parts of the scratch; with a null base it only counts.
struct Carver {
  float* base;
  std::int64_t used;

  float* take(std::int64_t floats) {
    float* out = base == nullptr ? nullptr : base + used;
    used += floats;
    return out;
  }
};

struct Scratch {
  float* k;        // (chunk_keys, head_dim)
  float* v;        // (chunk_keys, v_head_dim)
  float* scores;   // (kKeyBlock, width)
  float* bias;     // the same; null without bias
  float* max;      // (width)
  float* rescale;  // (width)
  Tile tiles[kMostTiles];
};

// Lays out the scratch, in counting or in carving mode; returns bytes. Every part is a whole number
// of vectors.
std::int64_t lay_out(const ScratchShape& shape, const Blocking& blocking, std::int64_t tile_rows,
                     Carver carver, Scratch& out) {
  out.k = carver.take(blocking.chunk_keys * shape.head_dim);
  out.v = carver.take(blocking.chunk_keys * shape.v_head_dim);
  out.scores = carver.take(kKeyBlock * tile_rows);
  out.bias = shape.biases == 0 ? nullptr : carver.take(kKeyBlock * tile_rows);
  out.max = carver.take(tile_rows);
  out.rescale = carver.take(tile_rows);
  for (std::int64_t i = 0; i < blocking.tiles; ++i) {
    Tile& t = out.tiles[i];
    t.qt = carver.take(shape.head_dim * tile_rows);
    t.ot = carver.take(shape.v_head_dim * tile_rows);
    t.max = carver.take(tile_rows);
    t.sum = carver.take(tile_rows);
    t.key_begin = reinterpret_cast<std::int32_t*>(carver.take(tile_rows));
    t.key_end = reinterpret_cast<std::int32_t*>(carver.take(tile_rows));
  }
  return carver.used * 4;
}

// Scores of kKeys keys against a tile, and the maximum so far.
// k (kKeys, d), qt (d, vecs), scores (kKeys, vecs), max (vecs).
template <class S, int kVecs, int kKeys>
void score_keys(const float* k, std::int64_t d, const float* qt, float* scores, float* max) {
  using V = typename S::V;
  V acc[kKeys][kVecs];
  for (int i = 0; i < kKeys; ++i) {
    for (int n = 0; n < kVecs; ++n) {
      acc[i][n] = S::zero();
    }
  }
  for (std::int64_t c = 0; c < d; ++c) {
    V q[kVecs];
    for (int n = 0; n < kVecs; ++n) {
      q[n] = S::load(qt + (c * kVecs + n) * S::kLanes);
    }
    for (int i = 0; i < kKeys; ++i) {
      const V b = S::broadcast(k + i * d + c);
      for (int n = 0; n < kVecs; ++n) {
        acc[i][n] = S::fma(b, q[n], acc[i][n]);
      }
    }
  }
  for (int n = 0; n < kVecs; ++n) {
    V m = S::load(max + n * S::kLanes);
    for (int i = 0; i < kKeys; ++i) {
      S::store(scores + (i * kVecs + n) * S::kLanes, acc[i][n]);
      m = S::max(acc[i][n], m);
    }
    S::store(max + n * S::kLanes, m);
  }
}

// The last n < kKeys + 1 keys of a block, exactly.
template <class S, int kVecs, int kKeys>
void score_rest(std::int64_t n, const float* k, std::int64_t d, const float* qt, float* scores,
                float* max) {
  if (n == kKeys) {
    score_keys<S, kVecs, kKeys>(k, d, qt, scores, max);
  } else if constexpr (kKeys > 1) {
    score_rest<S, kVecs, kKeys - 1>(n, k, d, qt, scores, max);
  }
}

template <class S, int kVecs>
void score_block(const float* k, std::int64_t keys, std::int64_t d, const float* qt, float* scores,
                 float* max) {
  constexpr int kStep = S::keys_at_once(kVecs);
  std::int64_t j = 0;
  for (; j + kStep <= keys; j += kStep) {
    score_keys<S, kVecs, kStep>(k + j * d, d, qt, scores + j * kVecs * S::kLanes, max);
  }
  score_rest<S, kVecs, kStep - 1>(keys - j, k + j * d, d, qt, scores + j * kVecs * S::kLanes, max);
}

// kDims rows of the output: ot = ot * rescale + V^T P over one block, or without the first term
// where rescale is null. v (keys, dv) at the first of the dims, p (keys, vecs), ot (kDims, vecs).
template <class S, int kVecs, int kDims>
void add_values(const float* v, std::int64_t dv, std::int64_t keys, const float* p,
                const float* rescale, float* ot) {
  using V = typename S::V;
  V acc[kDims][kVecs];
  for (int i = 0; i < kDims; ++i) {
    for (int n = 0; n < kVecs; ++n) {
      acc[i][n] = S::zero();
    }
  }
  for (std::int64_t j = 0; j < keys; ++j) {
    V w[kVecs];
    for (int n = 0; n < kVecs; ++n) {
      w[n] = S::load(p + (j * kVecs + n) * S::kLanes);
    }
    for (int i = 0; i < kDims; ++i) {
      const V b = S::broadcast(v + j * dv + i);
      for (int n = 0; n < kVecs; ++n) {
        acc[i][n] = S::fma(b, w[n], acc[i][n]);
      }
    }
  }
  for (int n = 0; n < kVecs; ++n) {
    for (int i = 0; i < kDims; ++i) {
      float* o = ot + (i * kVecs + n) * S::kLanes;
      S::store(o, rescale == nullptr
                      ? acc[i][n]
                      : S::fma(S::load(o), S::load(rescale + n * S::kLanes), acc[i][n]));
    }
  }
}

// The last n dims. v_head_dim is a multiple of 8 and kDims of 2, so n is even.
template <class S, int kVecs, int kDims>
void add_values_rest(std::int64_t n, const float* v, std::int64_t dv, std::int64_t keys,
                     const float* p, const float* rescale, float* ot) {
  if (n == kDims) {
    add_values<S, kVecs, kDims>(v, dv, keys, p, rescale, ot);
  } else if constexpr (kDims > 2) {
    add_values_rest<S, kVecs, kDims - 2>(n, v, dv, keys, p, rescale, ot);
  }
}

template <class S, int kVecs>
void add_values_block(const float* v, std::int64_t dv, std::int64_t keys, const float* p,
                      const float* rescale, float* ot) {
  constexpr int kStep = S::dims_at_once(kVecs);
  static_assert(kStep % 2 == 0);
  std::int64_t c = 0;
  for (; c + kStep <= dv; c += kStep) {
    add_values<S, kVecs, kStep>(v + c, dv, keys, p, rescale, ot + c * kVecs * S::kLanes);
  }
  add_values_rest<S, kVecs, kStep - 2>(dv - c, v + c, dv, keys, p, rescale,
                                       ot + c * kVecs * S::kLanes);
}

template <class S, int kTerms>
typename S::V polynomial(const float (&terms)[kTerms], typename S::V x) {
  typename S::V out = S::set(terms[0]);
  for (int i = 1; i < kTerms; ++i) {
    out = S::fma(out, x, S::set(terms[i]));
  }
  return out;
}

// tanh: odd polynomial below 0.625 (own minimax fit, 4e-9), else by 2^x, where 1 - e does not
// cancel.
template <class S>
typename S::V tanh_of(typename S::V x) {
  using V = typename S::V;
  const V minus = S::sub(S::zero(), x);
  const V magnitude = S::max(x, minus);
  const V e = S::exp2(S::mul(S::set(-2.0F * kLog2e), magnitude));
  const V large = S::div(S::sub(S::set(1.0F), e), S::add(S::set(1.0F), e));
  const V signed_large = S::select_less(x, S::zero(), S::sub(S::zero(), large), large);
  const V z = S::mul(x, x);
  const V poly = polynomial<S>(kTanhPoly, z);
  const V small = S::fma(S::mul(poly, z), x, x);
  return S::select_less(magnitude, S::set(0.625F), small, signed_large);
}

// What few callers ask for, in a pass of its own over the scores of one block, keys [begin, begin +
// keys): softcap, bias (keys, vecs; may be null), limits. Finds the maximum anew.
struct Special {
  float softcap;      // 0: none; the scores are logit / softcap then
  const float* bias;  // times log2(e)
};

template <class S, int kVecs>
void special_pass(const Tile& t, const Special& special, std::int64_t begin, std::int64_t keys,
                  float* scores, float* max) {
  using V = typename S::V;
  for (int n = 0; n < kVecs; ++n) {
    const std::int64_t lane = n * S::kLanes;
    V m = S::load(t.max + lane);
    for (std::int64_t j = 0; j < keys; ++j) {
      float* at = scores + j * kVecs * S::kLanes + lane;
      V x = S::load(at);
      if (special.softcap > 0) {
        x = S::mul(S::set(special.softcap * kLog2e), tanh_of<S>(x));
      }
      if (special.bias != nullptr) {
        x = S::add(x, S::load(special.bias + j * kVecs * S::kLanes + lane));
      }
      x = S::keep_between(x, static_cast<std::int32_t>(begin + j), t.key_begin + lane,
                          t.key_end + lane);
      S::store(at, x);
      m = S::max(x, m);
    }
    S::store(max + lane, m);
  }
}

// Scores -> 2^(score - max); updates the tile's maximum and sum; writes the factor of what was
// summed before. A query that has seen no key has maximum -inf: 0 stands in, and 2^-inf is 0.
template <class S, int kVecs>
void softmax_block(const Tile& t, std::int64_t keys, const float* max, float* scores,
                   float* rescale) {
  using V = typename S::V;
  V shift[kVecs];
  V sum[kVecs];
  for (int n = 0; n < kVecs; ++n) {
    const V m = S::load(max + n * S::kLanes);
    shift[n] = S::select_less(m, S::set(-3.0e38F), S::zero(), m);
    sum[n] = S::zero();
  }
  for (std::int64_t j = 0; j < keys; ++j) {
    for (int n = 0; n < kVecs; ++n) {
      float* at = scores + (j * kVecs + n) * S::kLanes;
      const V p = S::exp2(S::sub(S::load(at), shift[n]));
      S::store(at, p);
      sum[n] = S::add(sum[n], p);
    }
  }
  for (int n = 0; n < kVecs; ++n) {
    const std::int64_t lane = n * S::kLanes;
    const V factor = S::exp2(S::sub(S::load(t.max + lane), shift[n]));
    S::store(rescale + lane, factor);
    S::store(t.sum + lane, S::fma(S::load(t.sum + lane), factor, sum[n]));
    S::store(t.max + lane, S::load(max + lane));
  }
}

// One chunk of keys, [begin, end) of the sequence, dense in k and v.
struct Chunk {
  const float* k;
  const float* v;
  std::int64_t begin;
  std::int64_t end;
};

template <class S, int kVecs>
void attend_chunk(const AttendArgs& a, Tile& t, const Chunk& chunk, const Scratch& work) {
  for (std::int64_t j = chunk.begin; j < chunk.end; j += kKeyBlock) {
    const std::int64_t keys = least(kKeyBlock, chunk.end - j);
    if (j + keys <= t.union_begin || j >= t.union_end) {
      continue;
    }
    for (int n = 0; n < kVecs; ++n) {
      S::store(work.max + n * S::kLanes, S::load(t.max + n * S::kLanes));
    }
    const float* k = chunk.k + (j - chunk.begin) * a.head_dim;
    score_block<S, kVecs>(k, keys, a.head_dim, t.qt, work.scores, work.max);
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
                               work.scores, t.fresh ? nullptr : work.rescale, t.ot);
    t.fresh = false;
  }
}

// The instance for the number of vectors that a tile has.
template <class S, int kVecs>
void attend_chunk_any(const AttendArgs& a, Tile& t, const Chunk& chunk, const Scratch& work) {
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
  Scratch counted;
  return lay_out(shape, blocking_for(shape, kTileRows<S>), kTileRows<S>, {nullptr, 0}, counted);
}

template <class S>
void attend_rows(const AttendArgs& a, void* memory) {
  const ScratchShape shape{a.head_dim, a.v_head_dim, a.len_k, a.bias == nullptr ? 0 : 1};
  const Blocking blocking = blocking_for(shape, kTileRows<S>);
  Scratch work;
  lay_out(shape, blocking, kTileRows<S>, {static_cast<float*>(memory), 0}, work);
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
