// The one checked conversion from 64-bit counts to what a kernel or a C interface needs.
#pragma once

#include <limits>
#include <optional>
#include <utility>

namespace foveal {

// nullopt where the value does not fit.
template <class To, class From>
constexpr std::optional<To> narrow(From value) {
  if (!std::in_range<To>(value)) {
    return std::nullopt;
  }
  return static_cast<To>(value);
}

// Product of non-negative factors, nullopt on overflow of int64.
constexpr std::optional<long long> checked_mul(long long a, long long b) {
  long long out = 0;
  if (__builtin_mul_overflow(a, b, &out)) {
    return std::nullopt;
  }
  return out;
}

}  // namespace foveal
