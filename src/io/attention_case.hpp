// One attention case in a safetensors file: tensors q (Tq, num_heads, head_dim), k, v,
// cu_seqlens_q, cu_seqlens_k (or cu_seqlens for both), optional sinks (num_heads) and bias
// (num_heads, max_q, max_k); metadata scale, causal, window_left, window_right (-1: unbounded) and
// softcap (0: none) as text.
#pragma once

#include "tensor/tensor.hpp"

#include <foveal/error.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foveal::io {

struct AttentionCase {
  Tensor q;
  Tensor k;
  Tensor v;
  std::vector<std::int64_t> cu_seqlens_q;  // (B+1) tokens, unchecked
  std::vector<std::int64_t> cu_seqlens_k;
  std::optional<Tensor> sinks;  // f32
  std::optional<Tensor> bias;   // f32
  std::optional<float> scale;
  bool causal = false;
  std::optional<std::int64_t> window_left;
  std::optional<std::int64_t> window_right;
  std::optional<float> softcap;
};

// dtype: what q, k and v become; absent: as in the file.
// SafetensorsInvalid, SafetensorsTruncated, TensorMissing, ShapeMismatch, DtypeUnsupported,
// DtypeMismatch, OptionInvalid (metadata), OutOfMemory.
Result<AttentionCase> read_attention_case(const std::filesystem::path& path,
                                          std::optional<DType> dtype);

// OutOfMemory.
Result<Tensor> as_f32(const Tensor& tensor);

struct NamedTensor {
  std::string_view name;
  ConstTensorView view;  // f32, contiguous
};
// OutputUnwritable.
Status write_tensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors);

}  // namespace foveal::io
