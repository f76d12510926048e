// AVX2 kernels: 16-bit multiply-add of pairs of taps. Weights of more than 16 bits (the Pillow
// backend's) go through twice, as high and low parts; the sums may wrap on the way, the result does
// not.
#include "image/resize_kernels.hpp"

#if defined(__AVX2__)

#include <immintrin.h>

#include <cstring>

namespace foveal::resize {
namespace {

enum class Weights { kOnePart, kTwoParts };

struct Sum {
  __m256i low;
  __m256i high;
};

// Four outputs of 32 bits -> three bytes.
inline void store_pixel(__m128i sum, std::uint8_t* out) {
  const __m128i words = _mm_packs_epi32(sum, sum);
  const int bytes = _mm_cvtsi128_si32(_mm_packus_epi16(words, words));
  std::memcpy(out, &bytes, 3);
}

inline __m128i add_lanes(__m256i v) {
  return _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

// kRows rows at once share the weights.
template <Weights kWeights, int kRows>
void horizontal_rows(const AxisView& axis, const std::uint8_t* in, std::ptrdiff_t in_stride,
                     std::uint8_t* out) {
  // A lane takes 4 pixels of 3 bytes: (r0 r1 g0 g1 b0 b1 0 0) and the same of pixels 2 and 3, as
  // words.
  const __m256i first_pair = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1));
  const __m256i second_pair = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1));
  // Pairs of weights 0..3 of a group of 8 taps: lane 0 has taps 0-3, lane 1 taps 4-7.
  const __m256i first_weights = _mm256_setr_epi32(0, 0, 0, 0, 2, 2, 2, 2);
  const __m256i second_weights = _mm256_setr_epi32(1, 1, 1, 1, 3, 3, 3, 3);
  const __m128i rounding = _mm_set1_epi32(1 << (axis.bits - 1));
  const __m128i shift = _mm_cvtsi32_si128(axis.bits);
  const std::ptrdiff_t out_stride = std::ptrdiff_t{axis.outputs} * 3;

  for (int x = 0; x < axis.outputs; ++x) {
    const std::ptrdiff_t at = std::ptrdiff_t{x} * axis.stride;
    const std::uint8_t* pixels = in + std::ptrdiff_t{axis.first[x]} * 3;
    Sum sums[kRows];
    for (Sum& sum : sums) {
      sum.low = _mm256_setzero_si256();
      sum.high = _mm256_setzero_si256();
    }
    for (int j = 0; j < axis.count[x]; j += kTapGroup, pixels += 3 * kTapGroup) {
      const __m256i low = _mm256_broadcastsi128_si256(
          _mm_loadu_si128(reinterpret_cast<const __m128i*>(axis.low + at + j)));
      const __m256i low1 = _mm256_permutevar8x32_epi32(low, first_weights);
      const __m256i low2 = _mm256_permutevar8x32_epi32(low, second_weights);
      __m256i high1 = _mm256_setzero_si256();
      __m256i high2 = high1;
      if constexpr (kWeights == Weights::kTwoParts) {
        const __m256i high = _mm256_broadcastsi128_si256(
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(axis.high + at + j)));
        high1 = _mm256_permutevar8x32_epi32(high, first_weights);
        high2 = _mm256_permutevar8x32_epi32(high, second_weights);
      }
      for (int row = 0; row < kRows; ++row) {
        const std::uint8_t* p = pixels + row * in_stride;
        const __m256i v = _mm256_inserti128_si256(
            _mm256_castsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
            _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 12)), 1);
        const __m256i pair1 = _mm256_shuffle_epi8(v, first_pair);
        const __m256i pair2 = _mm256_shuffle_epi8(v, second_pair);
        sums[row].low = _mm256_add_epi32(
            sums[row].low,
            _mm256_add_epi32(_mm256_madd_epi16(pair1, low1), _mm256_madd_epi16(pair2, low2)));
        if constexpr (kWeights == Weights::kTwoParts) {
          sums[row].high = _mm256_add_epi32(
              sums[row].high,
              _mm256_add_epi32(_mm256_madd_epi16(pair1, high1), _mm256_madd_epi16(pair2, high2)));
        }
      }
    }
    for (int row = 0; row < kRows; ++row) {
      __m128i sum = _mm_add_epi32(add_lanes(sums[row].low), rounding);
      if constexpr (kWeights == Weights::kTwoParts) {
        sum = _mm_add_epi32(sum, _mm_slli_epi32(add_lanes(sums[row].high), 15));
      }
      store_pixel(_mm_sra_epi32(sum, shift), out + row * out_stride + std::ptrdiff_t{x} * 3);
    }
  }
}

template <Weights kWeights>
void horizontal_all(const AxisView& axis, const std::uint8_t* in, std::ptrdiff_t in_stride,
                    int rows, std::uint8_t* out) {
  constexpr int kRows = 4;  // 8 sums and 8 constants: more would spill
  const std::ptrdiff_t out_stride = std::ptrdiff_t{axis.outputs} * 3;
  int row = 0;
  for (; row + kRows <= rows; row += kRows) {
    horizontal_rows<kWeights, kRows>(axis, in + row * in_stride, in_stride, out + row * out_stride);
  }
  for (; row < rows; ++row) {
    horizontal_rows<kWeights, 1>(axis, in + row * in_stride, in_stride, out + row * out_stride);
  }
}

void horizontal(const AxisView& axis, const std::uint8_t* in, std::ptrdiff_t in_stride, int rows,
                std::uint8_t* out) {
  if (axis.high == nullptr) {
    horizontal_all<Weights::kOnePart>(axis, in, in_stride, rows, out);
  } else {
    horizontal_all<Weights::kTwoParts>(axis, in, in_stride, rows, out);
  }
}

inline std::int32_t pair_of(const std::int16_t* weights) {
  std::int32_t pair;
  std::memcpy(&pair, weights, sizeof(pair));
  return pair;
}

constexpr std::ptrdiff_t kColumns = 32;  // bytes of a row whose sums stay in registers

// 32 columns of one output row. The weights behind `count` are 0, so the second row of the last
// pair may be any row that exists.
template <Weights kWeights>
inline void vertical_block(const AxisView& axis, int y, const std::uint8_t* top,
                           std::ptrdiff_t in_stride, std::uint8_t* out) {
  const std::ptrdiff_t at = std::ptrdiff_t{y} * axis.stride;
  const int count = axis.count[y];
  Sum sums[4];
  for (Sum& sum : sums) {
    sum.low = _mm256_set1_epi32(1 << (axis.bits - 1));
    sum.high = _mm256_setzero_si256();
  }
  for (int j = 0; j < count; j += 2) {
    const std::uint8_t* row1 = top + j * in_stride;
    const std::uint8_t* row2 = j + 1 < count ? row1 + in_stride : row1;
    const __m256i low = _mm256_set1_epi32(pair_of(axis.low + at + j));
    __m256i high = _mm256_setzero_si256();
    if constexpr (kWeights == Weights::kTwoParts) {
      high = _mm256_set1_epi32(pair_of(axis.high + at + j));
    }
    for (int half = 0; half < 2; ++half) {
      const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row1 + 16 * half));
      const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(row2 + 16 * half));
      const __m256i pairs[2] = {_mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b)),
                                _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(a, b))};
      for (int part = 0; part < 2; ++part) {
        Sum& sum = sums[2 * half + part];
        sum.low = _mm256_add_epi32(sum.low, _mm256_madd_epi16(pairs[part], low));
        if constexpr (kWeights == Weights::kTwoParts) {
          sum.high = _mm256_add_epi32(sum.high, _mm256_madd_epi16(pairs[part], high));
        }
      }
    }
  }
  const __m128i shift = _mm_cvtsi32_si128(axis.bits);
  for (Sum& sum : sums) {
    if constexpr (kWeights == Weights::kTwoParts) {
      sum.low = _mm256_add_epi32(sum.low, _mm256_slli_epi32(sum.high, 15));
    }
    sum.low = _mm256_sra_epi32(sum.low, shift);
  }
  // Packing works within lanes: the last step puts the groups of 4 bytes in order.
  const __m256i bytes = _mm256_packus_epi16(_mm256_packs_epi32(sums[0].low, sums[1].low),
                                            _mm256_packs_epi32(sums[2].low, sums[3].low));
  const __m256i ordered =
      _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), ordered);
}

template <Weights kWeights>
void vertical_all(const AxisView& axis, const std::uint8_t* in, std::ptrdiff_t in_stride,
                  std::ptrdiff_t row_bytes, std::uint8_t* out) {
  for (int y = 0; y < axis.outputs; ++y, out += row_bytes) {
    const std::uint8_t* top = in + axis.first[y] * in_stride;
    std::ptrdiff_t begin = 0;
    for (; begin + kColumns <= row_bytes; begin += kColumns) {
      vertical_block<kWeights>(axis, y, top + begin, in_stride, out + begin);
    }
    if (begin < row_bytes) {  // the last block once more, moved left to end with the row
      begin = row_bytes - kColumns;
      vertical_block<kWeights>(axis, y, top + begin, in_stride, out + begin);
    }
  }
}

void vertical(const AxisView& axis, const std::uint8_t* in, std::ptrdiff_t in_stride,
              std::ptrdiff_t row_bytes, std::uint8_t* out) {
  if (row_bytes < kColumns) {
    generic_kernels().vertical(axis, in, in_stride, row_bytes, out);
  } else if (axis.high == nullptr) {
    vertical_all<Weights::kOnePart>(axis, in, in_stride, row_bytes, out);
  } else {
    vertical_all<Weights::kTwoParts>(axis, in, in_stride, row_bytes, out);
  }
}

constexpr KernelTable kAvx2{"avx2", horizontal, vertical};

}  // namespace

const KernelTable* avx2_kernels() {
  return &kAvx2;
}

}  // namespace foveal::resize

#else

namespace foveal::resize {
const KernelTable* avx2_kernels() {
  return nullptr;
}
}  // namespace foveal::resize

#endif
