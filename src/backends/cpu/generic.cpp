// The kernel for any machine: four lanes in the vector extension of g++ and clang, no instruction
// beyond the baseline of the architecture. Compiled without extra flags, so it may use the shared
// conversions.
#include "base/half.hpp"

#include "backends/cpu/attend-inl.hpp"

namespace foveal::cpu {
namespace {

struct Generic {
  using V = float __attribute__((vector_size(16)));
  using I = std::int32_t __attribute__((vector_size(16)));

  static constexpr std::int64_t kLanes = 4;
  static constexpr int kMaxVecs = 2;
  // Of 16 registers: 8 accumulators, the queries, one broadcast.
  static constexpr int keys_at_once(int vecs) { return vecs == 1 ? 8 : 4; }
  static constexpr int dims_at_once(int vecs) { return vecs == 1 ? 8 : 4; }

  static V set(float x) { return V{x, x, x, x}; }
  static V zero() { return set(0.0F); }
  static V load(const float* p) {
    V out;
    __builtin_memcpy(&out, p, sizeof out);
    return out;
  }
  static I load_int(const std::int32_t* p) {
    I out;
    __builtin_memcpy(&out, p, sizeof out);
    return out;
  }
  static void store(float* p, V x) { __builtin_memcpy(p, &x, sizeof x); }
  static V broadcast(const float* p) { return set(*p); }
  static V add(V a, V b) { return a + b; }
  static V sub(V a, V b) { return a - b; }
  static V mul(V a, V b) { return a * b; }
  static V div(V a, V b) { return a / b; }
  static V fma(V a, V b, V c) { return a * b + c; }
  static V select(I mask, V x, V y) { return (V)((mask & (I)x) | (~mask & (I)y)); }
  static V select_less(V a, V b, V x, V y) { return select(a < b, x, y); }
  // The second where either is NaN, as the instruction of x86 has it.
  static V max(V a, V b) { return select(a > b, a, b); }
  static V keep_between(V x, std::int32_t i, const std::int32_t* begin, const std::int32_t* end) {
    const I at{i, i, i, i};
    return select((load_int(begin) <= at) & (at < load_int(end)), x, set(-kInfinity));
  }

  // x <= 0. 2^x = 2^n 2^f with n = floor(x); below 2^-126 it is 0.
  static V exp2(V x) {
    const V clamped = select_less(x, set(-150.0F), set(-150.0F), x);
    const I truncated = __builtin_convertvector(clamped, I);
    const I n = truncated + (I)(__builtin_convertvector(truncated, V) > clamped);
    const V f = clamped - __builtin_convertvector(n, V);
    const V poly = polynomial<Generic>(kExp2Poly, f);
    return select_less(x, set(-126.0F), zero(), poly * (V)((n + 127) << 23));
  }

  static float read(Element e, const void* base, std::int64_t i) {
    switch (e) {
      case Element::kF16:
        return f16_to_f32(static_cast<const std::uint16_t*>(base)[i]);
      case Element::kBF16:
        return bf16_to_f32(static_cast<const std::uint16_t*>(base)[i]);
      default:
        return static_cast<const float*>(base)[i];
    }
  }
  static void write(Element e, void* base, std::int64_t i, float x) {
    switch (e) {
      case Element::kF16:
        static_cast<std::uint16_t*>(base)[i] = f32_to_f16(x);
        break;
      case Element::kBF16:
        static_cast<std::uint16_t*>(base)[i] = f32_to_bf16(x);
        break;
      default:
        static_cast<float*>(base)[i] = x;
        break;
    }
  }

  static void pack_transposed(const Rows& from, float factor, float* to, std::int64_t to_stride) {
    for (std::int64_t c = 0; c < from.cols; ++c) {
      for (std::int64_t r = 0; r < kLanes; ++r) {
        to[c * to_stride + r] =
            r < from.rows ? read(from.element, from.data, r * from.stride + c) * factor : 0.0F;
      }
    }
  }
  static void store_transposed(const float* from, std::int64_t from_stride, V factor,
                               const OutRows& to) {
    for (std::int64_t c = 0; c < to.cols; ++c) {
      const V x = load(from + c * from_stride) * factor;
      for (std::int64_t r = 0; r < to.rows; ++r) {
        write(to.element, to.data, r * to.stride + c, x[r]);
      }
    }
  }
  static void copy_rows(const Rows& from, float* to) {
    for (std::int64_t r = 0; r < from.rows; ++r) {
      for (std::int64_t c = 0; c < from.cols; ++c) {
        to[r * from.cols + c] = read(from.element, from.data, r * from.stride + c);
      }
    }
  }
};

}  // namespace

const KernelTable kGenericTable{.name = "generic",
                                .tile_rows = kTileRows<Generic>,
                                .scratch_bytes = scratch_bytes_of<Generic>,
                                .attend = attend_rows<Generic>};

}  // namespace foveal::cpu
