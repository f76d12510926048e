// From scores to weights, down the lanes: softcap, bias and limits where there are any, running
// maximum, exponential. Part of attend-inl.hpp.
#pragma once

#include "backends/cpu/layout-inl.hpp"

namespace foveal::cpu {
namespace {

// 2^f for f in [0, 1), highest power first: own minimax fit, exact at 0, 8e-8 (1.5e-7 with float32
// rounding).
constexpr float kExp2Poly[] = {1.86713017e-3F, 9.01702978e-3F, 5.57999127e-2F,
                               2.40164444e-1F, 6.93151295e-1F, 1.0F};
// (tanh(x) / x - 1) / x^2 in powers of x^2 for |x| < 0.625, highest first: own minimax fit, 4e-9.
constexpr float kTanhPoly[] = {-5.70498733e-3F, 2.06390880e-2F, -5.37397154e-2F, 1.33314416e-1F,
                               -3.33332807e-1F};
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

}  // namespace
}  // namespace foveal::cpu
