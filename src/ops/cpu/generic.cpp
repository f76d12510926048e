// Kernels in portable C++ for any CPU: vectors of four floats by the compilers' vector extension,
// which become SSE2 or NEON and plain code elsewhere. No FMA: a product is rounded before it is
// added.
#include "ops/cpu/kernels.hpp"

namespace foveal::ops::cpu {
namespace {

struct Vec {
  static constexpr std::int64_t kLanes = 4;
  using F = float __attribute__((vector_size(16)));
  using I = std::int32_t __attribute__((vector_size(16)));
  using U = std::uint32_t __attribute__((vector_size(16)));

  static inline I bits(F x) { return reinterpret_cast<I>(x); }
  static inline F from_bits(I x) { return reinterpret_cast<F>(x); }
  static inline F set(float x) { return F{x, x, x, x}; }
  static inline I set_bits(std::int32_t x) { return I{x, x, x, x}; }
  static inline F select(I yes_mask, F yes, F no) {
    return from_bits((yes_mask & bits(yes)) | (~yes_mask & bits(no)));
  }

  static inline F load(const float* p) {
    F x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
  }
  static inline F load_n(const float* p, std::int64_t n) {
    F x = set(0.0F);
    for (std::int64_t i = 0; i < n; ++i) {
      x[i] = p[i];
    }
    return x;
  }
  static inline void store(float* p, F x) { __builtin_memcpy(p, &x, sizeof x); }
  static inline void store_n(float* p, F x, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      p[i] = x[i];
    }
  }

  static inline float widen(std::uint16_t x) {
    const std::uint32_t u = static_cast<std::uint32_t>(x) << 16;
    float f = 0;
    __builtin_memcpy(&f, &u, sizeof f);
    return f;
  }
  static inline std::uint16_t narrow(float x) {  // nearest even; NaN stays NaN
    std::uint32_t u = 0;
    __builtin_memcpy(&u, &x, sizeof u);
    return static_cast<std::uint16_t>((x != x ? u | 0x400000U : u + 0x7FFFU + ((u >> 16) & 1U)) >>
                                      16);
  }
  static inline F load_bf16(const std::uint16_t* p) { return load_bf16_n(p, kLanes); }
  static inline F load_bf16_n(const std::uint16_t* p, std::int64_t n) {
    F x = set(0.0F);
    for (std::int64_t i = 0; i < n; ++i) {
      x[i] = widen(p[i]);
    }
    return x;
  }
  static inline void store_bf16(std::uint16_t* p, F x) { store_bf16_n(p, x, kLanes); }
  static inline void store_bf16_n(std::uint16_t* p, F x, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      p[i] = narrow(x[i]);
    }
  }
  // Slots alternate low and high columns in memory order, whatever the byte order.
  static inline void load_bf16_pairs(const std::uint16_t* p, F& lo, F& hi) {
    for (int i = 0; i < kLanes; ++i) {
      lo[i] = widen(p[2 * i]);
      hi[i] = widen(p[2 * i + 1]);
    }
  }

  static inline F add(F a, F b) { return a + b; }
  static inline F sub(F a, F b) { return a - b; }
  static inline F mul(F a, F b) { return a * b; }
  static inline F div(F a, F b) { return a / b; }
  static inline F fma(F a, F b, F c) { return a * b + c; }
  // The second operand where either is NaN.
  static inline F min(F a, F x) { return select(a < x, a, x); }
  static inline F max(F a, F x) { return select(a > x, a, x); }
  static inline F abs(F x) { return from_bits(bits(x) & set_bits(0x7FFFFFFF)); }
  static inline F round(F x) {  // |x| < 2^22: adding 1.5 * 2^23 leaves no room for a fraction
    const F magic = set(12582912.0F);
    return (x + magic) - magic;
  }
  // x * 2^n for n in [-160, 146] in two steps, as 2^n itself may not be a float; NaN in x stays.
  static inline F scale2(F x, F n) {
    const F magic = set(12582912.0F);
    const U whole = reinterpret_cast<U>(bits(n + magic) - bits(magic));  // n as an integer
    const I first = reinterpret_cast<I>(whole) >> 1;
    const I second = reinterpret_cast<I>(whole - reinterpret_cast<U>(first));
    return x * power(first) * power(second);
  }
  static inline F power(I n) {
    const U biased = reinterpret_cast<U>(n) + 127U;
    return from_bits(reinterpret_cast<I>(biased << 23));
  }
  static inline F select_less(F a, F b, F yes, F no) { return select(a < b, yes, no); }
  static inline F copy_sign(F magnitude, F sign) {
    return from_bits((bits(magnitude) & set_bits(0x7FFFFFFF)) |
                     (bits(sign) & ~set_bits(0x7FFFFFFF)));
  }
  static inline F first_n(F x, std::int64_t n) {
    const I lane{0, 1, 2, 3};
    return select(lane < set_bits(static_cast<std::int32_t>(n)), x, set(0.0F));
  }
  static inline F swap_pairs(F x) { return F{x[1], x[0], x[3], x[2]}; }
  static inline F negate_even(F x) { return F{-x[0], x[1], -x[2], x[3]}; }
  static inline float sum(F x) { return (x[0] + x[2]) + (x[1] + x[3]); }
};

inline std::uint16_t bf16_bits(float x) {
  return Vec::narrow(x);
}

// 4 rows by 2 vectors: 8 sums of SSE2's 16 registers, the rest for panel, broadcast and products.
constexpr int kTileRows = 4;
template <template <class, int...> class OnePanel, class Weights>
using TileRows = OnePanel<Weights, 1, 2, 3, 4>;

}  // namespace

// In this order: each uses names of those before it.
#include "ops/cpu/math-inl.hpp"

#include "ops/cpu/rows-inl.hpp"

#include "ops/cpu/linear-inl.hpp"

constexpr KernelTable kGenericTable = table();
const KernelTable kGenericKernels = kGenericTable;

}  // namespace foveal::ops::cpu
