// The strict adapter: parts of a call to one plan, each breach by its own id.
#include <foveal/attention/attention.hpp>

#include <cstddef>
#include <cstring>
#include <vector>

namespace foveal {
namespace {

constexpr std::string_view kLengthsExpected = "(B,), (B, 1, 1, 1) or (1, B)";

template <class Int>
std::int64_t load(const std::byte* at) {
  Int value = 0;
  std::memcpy(&value, at, sizeof value);  // memcpy: the caller's memory may be unaligned
  // A uint64 beyond int64 becomes negative, and a negative length is refused.
  return static_cast<std::int64_t>(value);
}

// nullptr where the dtype is no integer; bool is not one.
std::int64_t (*loader(DType dtype))(const std::byte*) {
  switch (dtype) {
    case DType::kI64:
      return load<std::int64_t>;
    case DType::kI32:
      return load<std::int32_t>;
    case DType::kI16:
      return load<std::int16_t>;
    case DType::kI8:
      return load<std::int8_t>;
    case DType::kU64:
      return load<std::uint64_t>;
    case DType::kU32:
      return load<std::uint32_t>;
    case DType::kU16:
      return load<std::uint16_t>;
    case DType::kU8:
      return load<std::uint8_t>;
    default:
      return nullptr;
  }
}

// The one dimension that holds the sequences, or -1.
int sequence_dimension(const Shape& shape) {
  if (shape.rank() == 1) {
    return 0;
  }
  if (shape.rank() == 4 && shape[1] == 1 && shape[2] == 1 && shape[3] == 1) {
    return 0;
  }
  return shape.rank() == 2 && shape[0] == 1 ? 1 : -1;
}

// (B) tokens, whatever the shape and dtype they came in.
Result<std::vector<std::int64_t>> read_lengths(const ConstTensorView& view) {
  constexpr std::string_view kName = "sequence_lengths";
  const auto read = loader(view.dtype);
  if (read == nullptr) {
    return Error(
        ErrorCode::kDtypeUnsupported,
        {{"what", kName}, {"dtype", dtype_name(view.dtype)}, {"expected", "an integer dtype"}});
  }
  const int dimension = sequence_dimension(view.shape);
  if (dimension < 0 || view.shape[dimension] < 0) {
    return Error(ErrorCode::kShapeMismatch,
                 {{"tensor", kName}, {"got", view.shape.text()}, {"expected", kLengthsExpected}});
  }
  if (view.device.kind != DeviceKind::kCpu) {
    return Error(ErrorCode::kDeviceMismatch,
                 {{"tensor", kName}, {"got", "cuda"}, {"expected", "cpu"}});
  }
  if (view.data == nullptr && view.numel() > 0) {
    return Error(ErrorCode::kTensorMissing, {{"tensor", kName},
                                             {"where", "the call (its pointer is null)"},
                                             {"expected", "pass the data of sequence_lengths"}});
  }
  const std::int64_t step =
      view.strides[static_cast<std::size_t>(dimension)].v * dtype_size(view.dtype).v;
  std::vector<std::int64_t> out(static_cast<std::size_t>(view.shape[dimension]));
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = read(static_cast<const std::byte*>(view.data) + static_cast<std::int64_t>(i) * step);
  }
  return out;
}

// The lengths say what the offsets imply, and max_seqlen covers them.
Status check_parts(const PackedSeqs& seqs, const AttentionParts& parts) {
  if (!parts.sequence_lengths) {
    return Error(ErrorCode::kSequenceLengthsMissing);
  }
  FOVEAL_TRY(const auto lengths, read_lengths(*parts.sequence_lengths));
  FOVEAL_TRY(const PackedSeqs stated,
             PackedSeqs::from_lengths(std::span<const std::int64_t>(lengths)));
  if (!parts.max_seqlen) {
    return Error(ErrorCode::kMaxSeqlenMissing,
                 {{"sequences", stated.size()}, {"longest", stated.max_seqlen().v}});
  }
  const std::int64_t count = std::max(stated.size(), seqs.size());
  for (std::int64_t i = 0; i < count; ++i) {
    // A sequence that one side lacks counts as one of no token there.
    const std::int64_t length = i < stated.size() ? stated[i].length.v : 0;
    const std::int64_t implied = i < seqs.size() ? seqs[i].length.v : 0;
    if (length != implied) {
      return Error(ErrorCode::kLengthsDisagree,
                   {{"index", i}, {"length", length}, {"implied", implied}});
    }
    if (length > *parts.max_seqlen) {
      const std::int64_t longest = seqs.max_seqlen().v;
      std::int64_t index = i;
      while (seqs[index].length.v != longest) {
        ++index;
      }
      return Error(ErrorCode::kMaxSeqlenTooSmall,
                   {{"max_seqlen", *parts.max_seqlen}, {"longest", longest}, {"index", index}});
    }
  }
  return {};
}

Status check_rank(const ConstTensorView& view, std::string_view name, std::string_view expected) {
  if (view.shape.rank() != 3) {
    return Error(ErrorCode::kShapeMismatch,
                 {{"tensor", name}, {"got", view.shape.text()}, {"expected", expected}});
  }
  return {};
}

}  // namespace

Status attention_from_parts(const Context& context, const QkvView& in, const AttentionParts& parts,
                            const AttentionOptions& options, const OutView& out) {
  FOVEAL_TRY_STATUS(check_rank(in.q, "q", "(T, num_heads, head_dim)"));
  FOVEAL_TRY_STATUS(check_rank(in.k, "k", "(T, num_kv_heads, head_dim)"));
  FOVEAL_TRY_STATUS(check_rank(in.v, "v", "(T, num_kv_heads, v_head_dim)"));
  FOVEAL_TRY(const PackedSeqs seqs, PackedSeqs::from_cu_seqlens(parts.cu_seqlens));
  FOVEAL_TRY_STATUS(check_parts(seqs, parts));
  FOVEAL_TRY(const AttentionPlan plan, context.plan({.heads = {.num_heads = in.q.shape[1],
                                                               .num_kv_heads = in.k.shape[1],
                                                               .head_dim = in.q.shape[2],
                                                               .v_head_dim = in.v.shape[2]},
                                                     .q_seqs = seqs,
                                                     .k_seqs = seqs,
                                                     .options = options,
                                                     .dtype = in.q.dtype,
                                                     .device = in.q.device}));
  return context.attention(plan, in, out);
}

}  // namespace foveal
