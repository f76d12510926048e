// Unit types of packed data: counts of tokens, elements and bytes that cannot be passed for one
// another. Raw integers appear only at the C and DLPack edges and in kernel parameter blocks (see
// narrow.hpp).
#pragma once

#include <cstdint>

#if defined(__CUDACC__)
#define FOVEAL_HD __host__ __device__
#else
#define FOVEAL_HD
#endif

namespace foveal {

// A 64-bit count or offset in one unit. Explicit both ways; + - and comparisons within one unit
// only.
template <class Tag>
struct Offset {
  std::int64_t v = 0;

  constexpr Offset() = default;
  FOVEAL_HD constexpr explicit Offset(std::int64_t x) : v(x) {}

  FOVEAL_HD friend constexpr Offset operator+(Offset a, Offset b) { return Offset(a.v + b.v); }
  FOVEAL_HD friend constexpr Offset operator-(Offset a, Offset b) { return Offset(a.v - b.v); }
  FOVEAL_HD constexpr Offset& operator+=(Offset b) {
    v += b.v;
    return *this;
  }
  // Spelled out one by one: device code cannot call a defaulted operator<=>.
  FOVEAL_HD friend constexpr bool operator==(Offset a, Offset b) { return a.v == b.v; }
  FOVEAL_HD friend constexpr bool operator!=(Offset a, Offset b) { return a.v != b.v; }
  FOVEAL_HD friend constexpr bool operator<(Offset a, Offset b) { return a.v < b.v; }
  FOVEAL_HD friend constexpr bool operator<=(Offset a, Offset b) { return a.v <= b.v; }
  FOVEAL_HD friend constexpr bool operator>(Offset a, Offset b) { return a.v > b.v; }
  FOVEAL_HD friend constexpr bool operator>=(Offset a, Offset b) { return a.v >= b.v; }
};

using Tokens = Offset<struct TokensTag>;      // rows of packed q, k, v
using Elements = Offset<struct ElementsTag>;  // scalars of a tensor
using Bytes = Offset<struct BytesTag>;

// The only way from rows to scalars: a row offset times the distance between rows.
FOVEAL_HD constexpr Elements elements(Tokens rows, Elements row_stride) {
  return Elements(rows.v * row_stride.v);
}

}  // namespace foveal
