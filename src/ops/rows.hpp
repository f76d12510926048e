// Moving and combining rows: conversion, gather, means, token assembly. All tensors (M, N) with
// contiguous last dimension.
#pragma once

#include "ops/exec.hpp"

#include <foveal/attention/metadata.hpp>
#include <foveal/error.hpp>
#include <foveal/tensor_view.hpp>

#include <cstdint>
#include <span>

namespace foveal::ops {

// f32 <-> bf16 (or a copy), rounded to nearest even.
Status convert(const Exec& exec, const ConstTensorView& in, const TensorView& out);

// out[i] = in[index[i]], groups of `group` rows: out rows (i*group + j) = in rows (index[i]*group +
// j). index values are in range (made by us). in and out of one dtype, not overlapping.
Status gather_rows(const Exec& exec, const ConstTensorView& in, std::span<const std::int32_t> index,
                   std::int64_t group, const TensorView& out);

// out (B, N) f32: mean of the rows of each sequence from its row `skip` on; in f32.
Status mean_rows(const Exec& exec, const ConstTensorView& in, const PackedSeqs& seqs, Tokens skip,
                 const TensorView& out);

// in[r] += add[r], both (M, N) f32.
Status add_rows(const Exec& exec, const TensorView& in, const ConstTensorView& add);

// Tokens of a batch of images: for image b, out rows = [prefix rows][patches of b + positions of
// b]. prefix (P, N) f32, P may be 0; patches (sum of patch counts, N) f32; positions[b] (count_b,
// N) f32 or null data for none; out (sum of (P + count_b), N) f32.
struct AssembleArgs {
  ConstTensorView prefix{};
  ConstTensorView patches{};
  std::span<const ConstTensorView> positions{};  // one an image, or empty: none
  PackedSeqs patch_seqs{};                       // rows of `patches`, one sequence an image
  TensorView out{};
};
Status assemble_tokens(const Exec& exec, const AssembleArgs& args);

}  // namespace foveal::ops
