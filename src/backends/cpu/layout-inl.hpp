// Sizes and scratch of the CPU attention kernel: chunks of keys, tiles of queries, what is fetched
// ahead. Part of attend-inl.hpp: built once per instruction set, with its vector type S.
#pragma once

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
constexpr double kLn2 = 0.693147180559945309;
constexpr float kInfinity = __builtin_inff();

constexpr std::int64_t least(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}
constexpr std::int64_t most(std::int64_t a, std::int64_t b) {
  return a > b ? a : b;
}

// Rows that will be needed soon, fetched into the L2 cache a few at a time between blocks of
// arithmetic. The rows of one head lie a whole token apart: no hardware prefetcher follows that,
// and each may be on a page of its own.
struct Stream {
  const char* at;
  std::int64_t row_bytes;  // from row to row
  std::int64_t bytes;      // of one row
  std::int64_t rows;       // left
};

struct Ahead {
  static constexpr int kStreams = 4;
  // 64 rows take 22 blocks of arithmetic at least: three rows a block have them all there in time.
  static constexpr std::int64_t kRowsAtOnce = 3;
  // More would push out what is in use; rows this far ahead come in time by themselves.
  static constexpr std::int64_t kMostRows = 256;
  Stream streams[kStreams];

  void step() {
    for (Stream& s : streams) {
      for (std::int64_t r = least(kRowsAtOnce, s.rows); r > 0; --r) {
        for (std::int64_t b = 0; b < s.bytes; b += 64) {
          __builtin_prefetch(s.at + b, 0, 3);
        }
        s.at += s.row_bytes;
        --s.rows;
      }
    }
  }
};

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
  Ahead ahead;
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

}  // namespace
}  // namespace foveal::cpu
