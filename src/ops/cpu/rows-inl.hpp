// Norms, rotary embedding, conversion and sums of one row, included by each instruction set's unit
// after its Vec. Sums run in four accumulators of a vector each, joined in a fixed order: bits
// depend on n alone.

namespace {

inline F load(ConstRow row, std::int64_t i) {
  return row.f32 != nullptr ? Vec::load(row.f32 + i) : Vec::load_bf16(row.bf16 + i);
}
inline F load_n(ConstRow row, std::int64_t i, std::int64_t n) {
  return row.f32 != nullptr ? Vec::load_n(row.f32 + i, n) : Vec::load_bf16_n(row.bf16 + i, n);
}
inline void store(Row row, std::int64_t i, F value) {
  if (row.f32 != nullptr) {
    Vec::store(row.f32 + i, value);
  } else {
    Vec::store_bf16(row.bf16 + i, value);
  }
}
inline void store_n(Row row, std::int64_t i, F value, std::int64_t n) {
  if (row.f32 != nullptr) {
    Vec::store_n(row.f32 + i, value, n);
  } else {
    Vec::store_bf16_n(row.bf16 + i, value, n);
  }
}
inline ConstRow read_only(Row row) {
  return {.f32 = row.f32, .bf16 = row.bf16};
}

// Sum over the row of term(vector), lanes past the end excluded.
template <class Term>
inline float sum_of(ConstRow row, std::int64_t n, Term term) {
  constexpr std::int64_t kLanes = Vec::kLanes;
  F s0 = Vec::set(0.0F);
  F s1 = s0;
  F s2 = s0;
  F s3 = s0;
  std::int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    s0 = Vec::add(s0, term(load(row, i)));
    s1 = Vec::add(s1, term(load(row, i + kLanes)));
    s2 = Vec::add(s2, term(load(row, i + 2 * kLanes)));
    s3 = Vec::add(s3, term(load(row, i + 3 * kLanes)));
  }
  for (; i + kLanes <= n; i += kLanes) {
    s0 = Vec::add(s0, term(load(row, i)));
  }
  if (i < n) {
    s1 = Vec::add(s1, Vec::first_n(term(load_n(row, i, n - i)), n - i));
  }
  return Vec::sum(Vec::add(Vec::add(s0, s1), Vec::add(s2, s3)));
}

// out = (in - mean) * factor [* weight] [+ bias]
inline void normalise(const NormRow& r, float mean, float factor) {
  const F m = Vec::set(mean);
  const F f = Vec::set(factor);
  for (std::int64_t i = 0; i < r.n; i += Vec::kLanes) {
    const std::int64_t left = r.n - i;
    const bool whole = left >= Vec::kLanes;
    F x = whole ? load(r.in, i) : load_n(r.in, i, left);
    x = Vec::mul(Vec::sub(x, m), f);
    if (r.weight != nullptr) {
      x = Vec::mul(x, whole ? Vec::load(r.weight + i) : Vec::load_n(r.weight + i, left));
    }
    if (r.bias != nullptr) {
      x = Vec::add(x, whole ? Vec::load(r.bias + i) : Vec::load_n(r.bias + i, left));
    }
    if (whole) {
      store(r.out, i, x);
    } else {
      store_n(r.out, i, x, left);
    }
  }
}

// Two passes: the variance of values around their mean does not cancel, whatever the mean.
void layer_norm(const NormRow& r) {
  const auto n = static_cast<float>(r.n);
  const float mean = sum_of(r.in, r.n, [](F x) { return x; }) / n;
  const F m = Vec::set(mean);
  const float variance = sum_of(r.in, r.n,
                                [m](F x) {
                                  const F d = Vec::sub(x, m);
                                  return Vec::mul(d, d);
                                }) /
                         n;
  normalise(r, mean, 1.0F / __builtin_sqrtf(variance + r.eps));
}

void rms_norm(const NormRow& r) {
  const float square =
      sum_of(r.in, r.n, [](F x) { return Vec::mul(x, x); }) / static_cast<float>(r.n);
  normalise(r, 0.0F, 1.0F / __builtin_sqrtf(square + r.eps));
}

// Products are rounded before they are added, as torch does it, so every instruction set gives the
// same bits.
void rope_half(Row x, const float* cosine, const float* sine, std::int64_t n) {
  const std::int64_t half = n / 2;
  for (std::int64_t i = 0; i < half; i += Vec::kLanes) {
    const std::int64_t left = half - i;
    const std::int64_t count = left < Vec::kLanes ? left : Vec::kLanes;
    const F a = load_n(read_only(x), i, count);
    const F b = load_n(read_only(x), half + i, count);
    const F ca = Vec::load_n(cosine + i, count);
    const F cb = Vec::load_n(cosine + half + i, count);
    const F sa = Vec::load_n(sine + i, count);
    const F sb = Vec::load_n(sine + half + i, count);
    store_n(x, i, Vec::sub(Vec::mul(a, ca), Vec::mul(b, sa)), count);
    store_n(x, half + i, Vec::add(Vec::mul(b, cb), Vec::mul(a, sb)), count);
  }
}

void rope_interleaved(Row x, const float* cosine, const float* sine, std::int64_t n) {
  for (std::int64_t i = 0; i < n; i += Vec::kLanes) {
    const std::int64_t left = n - i;
    const std::int64_t count = left < Vec::kLanes ? left : Vec::kLanes;
    const F v = load_n(read_only(x), i, count);
    const F c = Vec::load_n(cosine + i, count);
    const F s = Vec::load_n(sine + i, count);
    const F turned = Vec::negate_even(Vec::mul(Vec::swap_pairs(v), s));
    store_n(x, i, Vec::add(Vec::mul(v, c), turned), count);
  }
}

void convert(ConstRow in, Row out, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + Vec::kLanes <= n; i += Vec::kLanes) {
    store(out, i, load(in, i));
  }
  if (i < n) {
    store_n(out, i, load_n(in, i, n - i), n - i);
  }
}

void add(float* sum, ConstRow value, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + Vec::kLanes <= n; i += Vec::kLanes) {
    Vec::store(sum + i, Vec::add(Vec::load(sum + i), load(value, i)));
  }
  if (i < n) {
    Vec::store_n(sum + i, Vec::add(Vec::load_n(sum + i, n - i), load_n(value, i, n - i)), n - i);
  }
}

void scale(float* values, float factor, std::int64_t n) {
  const F f = Vec::set(factor);
  for (std::int64_t i = 0; i < n; i += Vec::kLanes) {
    const std::int64_t left = n - i;
    const std::int64_t count = left < Vec::kLanes ? left : Vec::kLanes;
    Vec::store_n(values + i, Vec::mul(Vec::load_n(values + i, count), f), count);
  }
}

}  // namespace
