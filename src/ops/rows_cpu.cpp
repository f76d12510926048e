// Ops on rows on the CPU: copies and sums, parallel over rows or images.
#include "ops/rows_cpu.hpp"

#include "ops/checks.hpp"
#include "ops/cpu/dispatch.hpp"
#include "ops/rows_work.hpp"

#include <cstring>

namespace foveal::ops::cpu {

void convert(const Exec& exec, const ConstTensorView& in, const TensorView& out) {
  const KernelTable& kernels = kernels_for(exec.isa);
  const std::int64_t n = in.shape[1];
  for_row_ranges(exec, in.shape[0], n, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t r = first; r < last; ++r) {
      kernels.convert(row_at(in, r * row_stride(in)), row_at(out, r * row_stride(out)), n);
    }
  });
}

void gather_rows(const Exec& exec, const ConstTensorView& in, std::span<const std::int32_t> index,
                 std::int64_t group, const TensorView& out) {
  const std::int64_t n = in.shape[1];
  const std::int64_t size = dtype_size(in.dtype).v;
  if (n == 0) {
    return;
  }
  for_row_ranges(exec, out.shape[0], n, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t r = first; r < last; ++r) {
      const std::int64_t from = index[static_cast<std::size_t>(r / group)] * group + r % group;
      std::memcpy(out.as<std::byte>() + r * row_stride(out) * size,
                  in.as<std::byte>() + from * row_stride(in) * size,
                  static_cast<std::size_t>(n * size));
    }
  });
}

void mean_rows(const Exec& exec, const ConstTensorView& in, const PackedSeqs& seqs, Tokens skip,
               const TensorView& out) {
  const KernelTable& kernels = kernels_for(exec.isa);
  const std::int64_t n = in.shape[1];
  if (n == 0) {
    return;
  }
  exec.pool->run(seqs.size(), [&](std::int64_t b, int /*worker*/) {
    const Sequence s = seqs[b];
    float* mean = out.as<float>() + b * row_stride(out);
    std::memset(mean, 0, static_cast<std::size_t>(n) * sizeof(float));
    const std::int64_t count = s.length.v - skip.v;
    if (count <= 0) {  // no row to average: zeros, not 0/0
      return;
    }
    for (std::int64_t r = s.begin.v + skip.v; r < s.begin.v + s.length.v; ++r) {
      kernels.add(mean, row_at(in, r * row_stride(in)), n);
    }
    kernels.scale(mean, 1.0F / static_cast<float>(count), n);
  });
}

void add_rows(const Exec& exec, const TensorView& in, const ConstTensorView& add) {
  const KernelTable& kernels = kernels_for(exec.isa);
  const std::int64_t n = in.shape[1];
  for_row_ranges(exec, in.shape[0], n, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t r = first; r < last; ++r) {
      kernels.add(in.as<float>() + r * row_stride(in), row_at(add, r * row_stride(add)), n);
    }
  });
}

void assemble_tokens(const Exec& exec, const AssembleArgs& args) {
  const KernelTable& kernels = kernels_for(exec.isa);
  const std::int64_t n = args.patches.shape[1];
  const std::int64_t prefix = args.prefix.data == nullptr ? 0 : args.prefix.shape[0];
  exec.pool->run(args.patch_seqs.size(), [&](std::int64_t b, int /*worker*/) {
    const Sequence s = args.patch_seqs[b];
    float* out = args.out.as<float>() + (s.begin.v + b * prefix) * row_stride(args.out);
    for (std::int64_t r = 0; r < prefix; ++r, out += row_stride(args.out)) {
      kernels.convert(row_at(args.prefix, r * row_stride(args.prefix)), {.f32 = out}, n);
    }
    const auto image = static_cast<std::size_t>(b);
    const ConstTensorView* positions =
        args.positions.empty() || args.positions[image].data == nullptr ? nullptr
                                                                        : &args.positions[image];
    for (std::int64_t r = 0; r < s.length.v; ++r, out += row_stride(args.out)) {
      kernels.convert(row_at(args.patches, (s.begin.v + r) * row_stride(args.patches)),
                      {.f32 = out}, n);
      if (positions != nullptr) {
        kernels.add(out, row_at(*positions, r * row_stride(*positions)), n);
      }
    }
  });
}

}  // namespace foveal::ops::cpu
