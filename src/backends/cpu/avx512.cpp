// The kernel for AVX-512 (F, BW, DQ, VL): sixteen lanes. Compiled with flags of its own: intrinsics
// and own -inl files only, nothing that could leave a weak symbol.
#include "backends/cpu/attend-inl.hpp"

#include <immintrin.h>

namespace foveal::cpu {
namespace {

struct Avx512 {
  using V = __m512;

  static constexpr std::int64_t kLanes = 16;
  static constexpr int kMaxVecs = 4;
  // 16 to 24 accumulators of 32 registers: two FMAs a cycle of latency 4 want 8, and the loads of
  // queries and broadcasts (vecs + keys for vecs * keys FMAs) must stay under one an FMA.
  static constexpr int keys_at_once(int vecs) { return vecs == 1 ? 16 : 24 / vecs; }
  static constexpr int dims_at_once(int vecs) { return keys_at_once(vecs); }

  static V set(float x) { return _mm512_set1_ps(x); }
  static V zero() { return _mm512_setzero_ps(); }
  static V load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, V x) { _mm512_storeu_ps(p, x); }
  static V broadcast(const float* p) { return _mm512_set1_ps(*p); }
  static V add(V a, V b) { return _mm512_add_ps(a, b); }
  static V sub(V a, V b) { return _mm512_sub_ps(a, b); }
  static V mul(V a, V b) { return _mm512_mul_ps(a, b); }
  static V div(V a, V b) { return _mm512_div_ps(a, b); }
  static V fma(V a, V b, V c) { return _mm512_fmadd_ps(a, b, c); }
  static V max(V a, V b) { return _mm512_max_ps(a, b); }
  static V select_less(V a, V b, V x, V y) {
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x);
  }
  static V keep_between(V x, std::int32_t i, const std::int32_t* begin, const std::int32_t* end) {
    const __m512i at = _mm512_set1_epi32(i);
    const __mmask16 from = _mm512_cmple_epi32_mask(_mm512_loadu_si512(begin), at);
    const __mmask16 in = _mm512_mask_cmplt_epi32_mask(from, at, _mm512_loadu_si512(end));
    return _mm512_mask_blend_ps(in, set(-kInfinity), x);
  }

  // x <= 0. 2^x = 2^floor(x) 2^f; vscalef floors x itself. -inf is safe: f is 0 and the result 0.
  static V exp2(V x) {
    const V f = _mm512_reduce_ps(x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    return _mm512_scalef_ps(polynomial<Avx512>(kExp2Poly, f), x);
  }

  // n <= 16 elements, widened; the others are 0 and are not read.
  static __mmask16 first(std::int64_t n) {
    return static_cast<__mmask16>(n >= kLanes ? 0xFFFF : (1 << n) - 1);
  }
  template <Element kElement>
  static V read(const void* base, std::int64_t i, __mmask16 mask) {
    if constexpr (kElement == Element::kF32) {
      return _mm512_maskz_loadu_ps(mask, static_cast<const float*>(base) + i);
    } else {
      const __m256i x = _mm256_maskz_loadu_epi16(mask, static_cast<const std::uint16_t*>(base) + i);
      if constexpr (kElement == Element::kF16) {
        return _mm512_cvtph_ps(x);
      } else {
        return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16));
      }
    }
  }
  // To bfloat16, nearest even; NaN keeps its upper bits and becomes quiet.
  static __m256i to_bf16(V x) {
    const __m512i u = _mm512_castps_si512(x);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
    const __m512i up = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7FFF)), odd);
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    const __m512i out = _mm512_mask_or_epi32(up, nan, u, _mm512_set1_epi32(0x400000));
    return _mm512_cvtepi32_epi16(_mm512_srli_epi32(out, 16));
  }
  template <Element kElement>
  static void write(void* base, std::int64_t i, __mmask16 mask, V x) {
    if constexpr (kElement == Element::kF32) {
      _mm512_mask_storeu_ps(static_cast<float*>(base) + i, mask, x);
    } else {
      auto* to = static_cast<std::uint16_t*>(base) + i;
      if constexpr (kElement == Element::kF16) {
        _mm256_mask_storeu_epi16(to, mask,
                                 _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
      } else {
        _mm256_mask_storeu_epi16(to, mask, to_bf16(x));
      }
    }
  }

  // 16 x 16: pairs of rows, then pairs of pairs within the quarters, then the quarters.
  static void transpose(V (&r)[16]) {
    V t[16];
    for (int i = 0; i < 16; i += 2) {
      t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
      t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
      r[i] = _mm512_shuffle_ps(t[i], t[i + 2], 0x44);
      r[i + 1] = _mm512_shuffle_ps(t[i], t[i + 2], 0xEE);
      r[i + 2] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0x44);
      r[i + 3] = _mm512_shuffle_ps(t[i + 1], t[i + 3], 0xEE);
    }
    for (int i = 0; i < 4; ++i) {
      t[i] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0x88);
      t[i + 4] = _mm512_shuffle_f32x4(r[i], r[i + 4], 0xDD);
      t[i + 8] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0x88);
      t[i + 12] = _mm512_shuffle_f32x4(r[i + 8], r[i + 12], 0xDD);
    }
    for (int i = 0; i < 4; ++i) {
      r[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
      r[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xDD);
      r[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
      r[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xDD);
    }
  }

  template <Element kElement>
  static void pack_transposed_as(const Rows& from, float factor, float* to,
                                 std::int64_t to_stride) {
    const V scale = set(factor);
    for (std::int64_t c = 0; c < from.cols; c += kLanes) {
      const std::int64_t cols = least(kLanes, from.cols - c);
      const __mmask16 mask = first(cols);
      V r[16];
      for (std::int64_t i = 0; i < kLanes; ++i) {
        r[i] = i < from.rows ? mul(read<kElement>(from.data, i * from.stride + c, mask), scale)
                             : zero();
      }
      transpose(r);
      for (std::int64_t i = 0; i < cols; ++i) {
        store(to + (c + i) * to_stride, r[i]);
      }
    }
  }
  template <Element kElement>
  static void store_transposed_as(const float* from, std::int64_t from_stride, V factor,
                                  const OutRows& to) {
    for (std::int64_t c = 0; c < to.cols; c += kLanes) {
      const std::int64_t cols = least(kLanes, to.cols - c);
      const __mmask16 mask = first(cols);
      V r[16];
      for (std::int64_t i = 0; i < kLanes; ++i) {
        r[i] = i < cols ? mul(load(from + (c + i) * from_stride), factor) : zero();
      }
      transpose(r);
      for (std::int64_t i = 0; i < to.rows; ++i) {
        write<kElement>(to.data, i * to.stride + c, mask, r[i]);
      }
    }
  }
  template <Element kElement>
  static void copy_rows_as(const Rows& from, float* to) {
    const __mmask16 tail = first(from.cols % kLanes);
    const std::int64_t whole = from.cols / kLanes * kLanes;
    for (std::int64_t r = 0; r < from.rows; ++r) {
      for (std::int64_t c = 0; c < whole; c += kLanes) {
        store(to + r * from.cols + c, read<kElement>(from.data, r * from.stride + c, 0xFFFF));
      }
      if (tail != 0) {
        const V x = read<kElement>(from.data, r * from.stride + whole, tail);
        _mm512_mask_storeu_ps(to + r * from.cols + whole, tail, x);
      }
    }
  }

  static void pack_transposed(const Rows& from, float factor, float* to, std::int64_t to_stride) {
    switch (from.element) {
      case Element::kF16:
        return pack_transposed_as<Element::kF16>(from, factor, to, to_stride);
      case Element::kBF16:
        return pack_transposed_as<Element::kBF16>(from, factor, to, to_stride);
      default:
        return pack_transposed_as<Element::kF32>(from, factor, to, to_stride);
    }
  }
  static void store_transposed(const float* from, std::int64_t from_stride, V factor,
                               const OutRows& to) {
    switch (to.element) {
      case Element::kF16:
        return store_transposed_as<Element::kF16>(from, from_stride, factor, to);
      case Element::kBF16:
        return store_transposed_as<Element::kBF16>(from, from_stride, factor, to);
      default:
        return store_transposed_as<Element::kF32>(from, from_stride, factor, to);
    }
  }
  static void copy_rows(const Rows& from, float* to) {
    switch (from.element) {
      case Element::kF16:
        return copy_rows_as<Element::kF16>(from, to);
      case Element::kBF16:
        return copy_rows_as<Element::kBF16>(from, to);
      default:
        return copy_rows_as<Element::kF32>(from, to);
    }
  }
};

}  // namespace

const KernelTable kAvx512Table{.name = "avx512",
                               .tile_rows = kTileRows<Avx512>,
                               .scratch_bytes = scratch_bytes_of<Avx512>,
                               .attend = attend_rows<Avx512>};

}  // namespace foveal::cpu
