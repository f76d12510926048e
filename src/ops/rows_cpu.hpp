// The CPU's half of rows.hpp: arguments are checked. Private to src/ops.
#pragma once

#include "ops/rows.hpp"

namespace foveal::ops::cpu {

void convert(const Exec& exec, const ConstTensorView& in, const TensorView& out);
void gather_rows(const Exec& exec, const ConstTensorView& in, std::span<const std::int32_t> index,
                 std::int64_t group, const TensorView& out);
void mean_rows(const Exec& exec, const ConstTensorView& in, const PackedSeqs& seqs, Tokens skip,
               const TensorView& out);
void add_rows(const Exec& exec, const TensorView& in, const ConstTensorView& add);
void assemble_tokens(const Exec& exec, const AssembleArgs& args);

}  // namespace foveal::ops::cpu
