// The two products of attention over one block of keys, register-blocked: scores = K Q^T and out +=
// V^T P, with lanes as queries and the operand of the keys broadcast. Part of attend-inl.hpp.
#pragma once

#include "backends/cpu/layout-inl.hpp"

namespace foveal::cpu {
namespace {

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
                 float* max, Ahead& ahead) {
  constexpr int kStep = S::keys_at_once(kVecs);
  std::int64_t j = 0;
  for (; j + kStep <= keys; j += kStep) {
    score_keys<S, kVecs, kStep>(k + j * d, d, qt, scores + j * kVecs * S::kLanes, max);
    ahead.step();
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
                      const float* rescale, float* ot, Ahead& ahead) {
  constexpr int kStep = S::dims_at_once(kVecs);
  static_assert(kStep % 2 == 0);
  std::int64_t c = 0;
  for (; c + kStep <= dv; c += kStep) {
    add_values<S, kVecs, kStep>(v + c, dv, keys, p, rescale, ot + c * kVecs * S::kLanes);
    ahead.step();
  }
  add_values_rest<S, kVecs, kStep - 2>(dv - c, v + c, dv, keys, p, rescale,
                                       ot + c * kVecs * S::kLanes);
}

}  // namespace
}  // namespace foveal::cpu
