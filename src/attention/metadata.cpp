// Lengths and cu_seqlens to PackedSeqs. All sums in 64 bits; one checked narrowing to int32 at the
// end.
#include <foveal/attention/metadata.hpp>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

namespace foveal {
namespace {

template <class Int>
Int load(const ConstTensorView& view, std::int64_t i) {
  Int value = 0;
  const auto* base = static_cast<const std::byte*>(view.data);  // not null: checked before
  std::memcpy(&value, base + i * view.strides[0].v * static_cast<std::int64_t>(sizeof(Int)),
              sizeof value);
  return value;
}

}  // namespace

PackedSeqs::PackedSeqs() {
  auto data = std::make_shared<Data>();
  data->cu_seqlens = {0};
  data_ = std::move(data);
}

template <class Int>
Result<PackedSeqs> PackedSeqs::lengths_impl(std::span<const Int> lengths) {
  auto data = std::make_shared<Data>();
  data->cu_seqlens.reserve(lengths.size() + 1);
  data->cu_seqlens.push_back(0);
  data->seqlens.reserve(lengths.size());
  std::int64_t total = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const auto length = static_cast<std::int64_t>(lengths[i]);
    if (length < 0) {
      return Error(ErrorCode::kLengthNegative, {{"index", i}, {"length", length}});
    }
    // One length alone may be near 2^63: compare before adding.
    if (length > kMaxTokens - total) {
      const std::int64_t sum =
          length > std::numeric_limits<std::int64_t>::max() - total ? length : total + length;
      return Error(ErrorCode::kTooManyTokens, {{"total", sum}, {"limit", kMaxTokens}});
    }
    total += length;
    data->cu_seqlens.push_back(static_cast<std::int32_t>(total));
    data->seqlens.push_back(static_cast<std::int32_t>(length));
    data->max_seqlen = std::max(data->max_seqlen, Tokens(length));
    data->sum_sq +=
        length * length;  // at most (2^31)^2: total is bounded, so the sum of squares is too
  }
  data->total_tokens = Tokens(total);
  return PackedSeqs(std::move(data));
}

template <class Int>
Result<PackedSeqs> PackedSeqs::cu_seqlens_impl(std::span<const Int> cu_seqlens) {
  if (cu_seqlens.empty()) {
    return Error(ErrorCode::kCuSeqlensShape, {{"entries", 0}});
  }
  if (cu_seqlens[0] != 0) {
    return Error(ErrorCode::kCuSeqlensStart, {{"first", cu_seqlens[0]}});
  }
  std::vector<std::int64_t> lengths(cu_seqlens.size() - 1);
  for (std::size_t i = 1; i < cu_seqlens.size(); ++i) {
    if (cu_seqlens[i] < cu_seqlens[i - 1]) {
      return Error(ErrorCode::kCuSeqlensDecrease,
                   {{"index", i}, {"previous", cu_seqlens[i - 1]}, {"value", cu_seqlens[i]}});
    }
    lengths[i - 1] =
        static_cast<std::int64_t>(cu_seqlens[i]) - static_cast<std::int64_t>(cu_seqlens[i - 1]);
  }
  return lengths_impl(std::span<const std::int64_t>(lengths));
}

Result<PackedSeqs> PackedSeqs::from_lengths(std::span<const std::int64_t> lengths) {
  return lengths_impl(lengths);
}
Result<PackedSeqs> PackedSeqs::from_lengths(std::span<const std::int32_t> lengths) {
  return lengths_impl(lengths);
}
Result<PackedSeqs> PackedSeqs::from_cu_seqlens(std::span<const std::int32_t> cu_seqlens) {
  return cu_seqlens_impl(cu_seqlens);
}
Result<PackedSeqs> PackedSeqs::from_cu_seqlens(std::span<const std::int64_t> cu_seqlens) {
  return cu_seqlens_impl(cu_seqlens);
}

Result<PackedSeqs> PackedSeqs::from_cu_seqlens(const ConstTensorView& cu_seqlens) {
  if (cu_seqlens.dtype != DType::kI32 && cu_seqlens.dtype != DType::kI64) {
    return Error(ErrorCode::kCuSeqlensDtype, {{"dtype", dtype_name(cu_seqlens.dtype)}});
  }
  if (cu_seqlens.shape.rank() != 1 || cu_seqlens.shape[0] < 0) {
    return Error(
        ErrorCode::kShapeMismatch,
        {{"tensor", "cu_seqlens"}, {"got", cu_seqlens.shape.text()}, {"expected", "(B+1,)"}});
  }
  if (cu_seqlens.device.kind != DeviceKind::kCpu) {
    return Error(ErrorCode::kDeviceMismatch,
                 {{"tensor", "cu_seqlens"}, {"got", "cuda"}, {"expected", "cpu"}});
  }
  if (cu_seqlens.data == nullptr) {
    if (cu_seqlens.numel() == 0) {
      return cu_seqlens_impl(std::span<const std::int64_t>());
    }
    return Error(ErrorCode::kTensorMissing, {{"tensor", "cu_seqlens"},
                                             {"where", "the call (its pointer is null)"},
                                             {"expected", "pass the data of cu_seqlens"}});
  }
  std::vector<std::int64_t> values(static_cast<std::size_t>(cu_seqlens.shape[0]));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    values[i] = cu_seqlens.dtype == DType::kI32 ? load<std::int32_t>(cu_seqlens, at)
                                                : load<std::int64_t>(cu_seqlens, at);
  }
  return cu_seqlens_impl(std::span<const std::int64_t>(values));
}

Result<PackedSeqs> PackedSeqs::from_equal(Equal equal) {
  if (equal.batch < 0) {
    return Error(ErrorCode::kOptionInvalid, {{"option", "batch"},
                                             {"value", std::to_string(equal.batch)},
                                             {"expected", "a count of sequences is 0 or more"}});
  }
  if (equal.batch > kMaxTokens) {
    return Error(ErrorCode::kTooManyTokens, {{"total", equal.batch}, {"limit", kMaxTokens}});
  }
  const std::vector<std::int64_t> lengths(static_cast<std::size_t>(equal.batch), equal.seq_len.v);
  return lengths_impl(std::span<const std::int64_t>(lengths));
}

}  // namespace foveal
