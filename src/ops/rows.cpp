// Checks of the ops on rows.
#include "ops/rows.hpp"

#include "base/check.hpp"
#include "ops/checks.hpp"
#include "ops/rows_cpu.hpp"

namespace foveal::ops {
namespace {

Status check_f32(std::string_view tensor, const ConstTensorView& view) {
  return check_dtype(tensor, {view.dtype, "sums", DType::kF32});
}

Status check_rank2(const Exec& exec, std::string_view tensor, const ConstTensorView& view) {
  if (view.shape.rank() != 2) {
    return shape_mismatch(tensor, view.shape, "(M, N)");
  }
  return check_layout(exec, tensor, view);
}

}  // namespace

Status convert(const Exec& exec, const ConstTensorView& in, const TensorView& out) {
  FOVEAL_TRY_STATUS(check_device(exec));
  FOVEAL_TRY_STATUS(check_rank2(exec, "in", in));
  FOVEAL_TRY_STATUS(check_matrix(exec, "out", out, {in.shape[0], in.shape[1]}));
  FOVEAL_TRY_STATUS(check_float("in", in.dtype));
  FOVEAL_TRY_STATUS(check_float("out", out.dtype));
  cpu::convert(exec, in, out);
  return {};
}

Status gather_rows(const Exec& exec, const ConstTensorView& in, std::span<const std::int32_t> index,
                   std::int64_t group, const TensorView& out) {
  FOVEAL_TRY_STATUS(check_device(exec));
  FOVEAL_CHECK(group >= 1);
  FOVEAL_TRY_STATUS(check_rank2(exec, "in", in));
  FOVEAL_TRY_STATUS(check_matrix(exec, "out", out,
                                 {static_cast<std::int64_t>(index.size()) * group, in.shape[1]}));
  FOVEAL_TRY_STATUS(check_dtype("out", {out.dtype, "in", in.dtype}));
  for (const std::int32_t i : index) {
    FOVEAL_CHECK(i >= 0 && (i + std::int64_t{1}) * group <= in.shape[0]);
  }
  cpu::gather_rows(exec, in, index, group, out);
  return {};
}

Status mean_rows(const Exec& exec, const ConstTensorView& in, const PackedSeqs& seqs, Tokens skip,
                 const TensorView& out) {
  FOVEAL_TRY_STATUS(check_device(exec));
  FOVEAL_CHECK(skip.v >= 0);
  FOVEAL_TRY_STATUS(check_rank2(exec, "in", in));
  FOVEAL_TRY_STATUS(check_matrix(exec, "in", in, {seqs.total_tokens().v, in.shape[1]}));
  FOVEAL_TRY_STATUS(check_matrix(exec, "out", out, {seqs.size(), in.shape[1]}));
  FOVEAL_TRY_STATUS(check_float("in", in.dtype));
  FOVEAL_TRY_STATUS(check_f32("out", out));
  cpu::mean_rows(exec, in, seqs, skip, out);
  return {};
}

Status add_rows(const Exec& exec, const TensorView& in, const ConstTensorView& add) {
  FOVEAL_TRY_STATUS(check_device(exec));
  FOVEAL_TRY_STATUS(check_rank2(exec, "in", in));
  FOVEAL_TRY_STATUS(check_matrix(exec, "add", add, {in.shape[0], in.shape[1]}));
  FOVEAL_TRY_STATUS(check_f32("in", in));
  FOVEAL_TRY_STATUS(check_f32("add", add));
  cpu::add_rows(exec, in, add);
  return {};
}

Status assemble_tokens(const Exec& exec, const AssembleArgs& args) {
  FOVEAL_TRY_STATUS(check_device(exec));
  FOVEAL_TRY_STATUS(check_rank2(exec, "patches", args.patches));
  const std::int64_t n = args.patches.shape[1];
  const std::int64_t images = args.patch_seqs.size();
  FOVEAL_TRY_STATUS(
      check_matrix(exec, "patches", args.patches, {args.patch_seqs.total_tokens().v, n}));
  FOVEAL_TRY_STATUS(check_f32("patches", args.patches));
  // A view without rows may have been left as it was made, of rank 0 and without data.
  const bool no_prefix = args.prefix.data == nullptr || args.prefix.shape[0] == 0;
  const std::int64_t prefix = no_prefix ? 0 : args.prefix.shape[0];
  if (!no_prefix) {
    FOVEAL_TRY_STATUS(check_matrix(exec, "prefix", args.prefix, {prefix, n}));
    FOVEAL_TRY_STATUS(check_f32("prefix", args.prefix));
  }
  if (!args.positions.empty() && static_cast<std::int64_t>(args.positions.size()) != images) {
    return shape_mismatch("positions", {static_cast<std::int64_t>(args.positions.size())},
                          Shape{images}.text());
  }
  for (std::size_t b = 0; b < args.positions.size(); ++b) {
    const ConstTensorView& p = args.positions[b];
    if (p.data == nullptr) {
      continue;
    }
    const std::int64_t count = args.patch_seqs[static_cast<std::int64_t>(b)].length.v;
    FOVEAL_TRY_STATUS(check_matrix(exec, "positions", p, {count, n}));
    FOVEAL_TRY_STATUS(check_f32("positions", p));
  }
  FOVEAL_TRY_STATUS(
      check_matrix(exec, "out", args.out, {args.patches.shape[0] + images * prefix, n}));
  FOVEAL_TRY_STATUS(check_f32("out", args.out));
  cpu::assemble_tokens(exec, args);
  return {};
}

}  // namespace foveal::ops
