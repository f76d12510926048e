// Kernels for AVX-512 F, BW, DQ and VL. Only this unit is built with those flags: intrinsics and
// our own code, nothing of the standard library that the linker could share with the rest of the
// program.
#include "ops/cpu/kernels.hpp"

#include <immintrin.h>

namespace foveal::ops::cpu {
namespace {

struct Vec {
  using F = __m512;
  static constexpr std::int64_t kLanes = 16;

  static inline __mmask16 mask(std::int64_t n) {  // n in [0, 16]
    return static_cast<__mmask16>((1U << static_cast<unsigned>(n)) - 1U);
  }
  static inline F set(float x) { return _mm512_set1_ps(x); }
  static inline F load(const float* p) { return _mm512_loadu_ps(p); }
  static inline F load_n(const float* p, std::int64_t n) {
    return _mm512_maskz_loadu_ps(mask(n), p);
  }
  static inline void store(float* p, F x) { _mm512_storeu_ps(p, x); }
  static inline void store_n(float* p, F x, std::int64_t n) {
    _mm512_mask_storeu_ps(p, mask(n), x);
  }

  static inline F widen(__m256i x) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
  }
  static inline __m256i narrow(F x) {  // nearest even; NaN stays NaN
    const __m512i u = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7FFF)), odd);
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    const __m512i quiet = _mm512_or_si512(u, _mm512_set1_epi32(0x400000));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_mask_mov_epi32(rounded, nan, quiet), 16));
  }
  static inline F load_bf16(const std::uint16_t* p) {
    return widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static inline F load_bf16_n(const std::uint16_t* p, std::int64_t n) {
    return widen(_mm256_maskz_loadu_epi16(mask(n), p));
  }
  static inline void store_bf16(std::uint16_t* p, F x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), narrow(x));
  }
  static inline void store_bf16_n(std::uint16_t* p, F x, std::int64_t n) {
    _mm256_mask_storeu_epi16(p, mask(n), narrow(x));
  }
  static inline void load_bf16_pairs(const std::uint16_t* p, F& lo, F& hi) {
    const __m512i pairs = _mm512_loadu_si512(p);
    lo = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
    hi = _mm512_castsi512_ps(
        _mm512_and_si512(pairs, _mm512_set1_epi32(static_cast<int>(0xFFFF0000U))));
  }

  static inline F add(F a, F b) { return _mm512_add_ps(a, b); }
  static inline F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static inline F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static inline F div(F a, F b) { return _mm512_div_ps(a, b); }
  static inline F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  // The second operand where either is NaN.
  static inline F min(F a, F x) { return _mm512_min_ps(a, x); }
  static inline F max(F a, F x) { return _mm512_max_ps(a, x); }
  static inline F abs(F x) { return _mm512_abs_ps(x); }
  static inline F round(F x) {
    return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  }
  static inline F scale2(F x, F n) { return _mm512_scalef_ps(x, n); }  // x * 2^n
  static inline F select_less(F a, F b, F yes, F no) {                 // a < b ? yes : no
    return _mm512_mask_mov_ps(no, _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), yes);
  }
  static inline F copy_sign(F magnitude, F sign) {
    const F bit = _mm512_set1_ps(-0.0F);
    return _mm512_or_ps(_mm512_andnot_ps(bit, magnitude), _mm512_and_ps(bit, sign));
  }
  static inline F first_n(F x, std::int64_t n) { return _mm512_maskz_mov_ps(mask(n), x); }
  static inline F swap_pairs(F x) { return _mm512_permute_ps(x, 0xB1); }
  static inline F negate_even(F x) {
    return _mm512_mask_xor_ps(x, 0x5555, x, _mm512_set1_ps(-0.0F));
  }
  static inline float sum(F x) {  // halves upon halves: a fixed order
    const __m256 q = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 h = _mm_add_ps(_mm256_castps256_ps128(q), _mm256_extractf128_ps(q, 1));
    h = _mm_add_ps(h, _mm_movehl_ps(h, h));
    h = _mm_add_ss(h, _mm_shuffle_ps(h, h, 1));
    return _mm_cvtss_f32(h);
  }
};

inline std::uint16_t bf16_bits(float x) {
  return static_cast<std::uint16_t>(
      _mm_extract_epi16(_mm256_castsi256_si128(Vec::narrow(_mm512_set1_ps(x))), 0));
}

// 12 rows by 2 vectors: 24 sums of the 32 registers, 2 for the panel, one for the broadcast.
constexpr int kTileRows = 12;
template <template <class, int...> class OnePanel, class Weights>
using TileRows = OnePanel<Weights, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12>;

}  // namespace

// In this order: each uses names of those before it.
#include "ops/cpu/math-inl.hpp"

#include "ops/cpu/rows-inl.hpp"

#include "ops/cpu/linear-inl.hpp"

constexpr KernelTable kAvx512Table = table();
const KernelTable kAvx512Kernels = kAvx512Table;

}  // namespace foveal::ops::cpu
