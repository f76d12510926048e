// Packed attention in one call: by a plan, or by the parts that today's servers pass. A plan is
// made once a batch and cannot disagree with itself; parts can, so each call checks them against
// one another and a breach is an error with the values and the fix, before anything is computed.
#pragma once

#include <foveal/attention/plan.hpp>
#include <foveal/context.hpp>
#include <foveal/error.hpp>
#include <foveal/tensor_view.hpp>

#include <cstdint>
#include <optional>

namespace foveal {

// Metadata of one call in its parts, all on the host. Optional here means "may be forgotten", not
// "may be left out": the contract asks for both, and says by id which one is missing.
struct AttentionParts {
  ConstTensorView cu_seqlens;  // (B+1) int32 or int64, tokens
  // (B), (B,1,1,1) or (1,B), any integer dtype, tokens. Zeros past the last sequence are padding.
  std::optional<ConstTensorView> sequence_lengths{};
  std::optional<std::int64_t> max_seqlen{};  // tokens; at least the longest length, more is allowed
};

// Self attention over packed rows; shapes as QkvView and OutView say, heads are read from them.
// SequenceLengthsMissing, MaxSeqlenMissing, MaxSeqlenTooSmall, LengthsDisagree, LengthNegative, the
// errors of PackedSeqs::from_cu_seqlens, Context::plan and Context::attention.
Status attention_from_parts(const Context& context, const QkvView& in, const AttentionParts& parts,
                            const AttentionOptions& options, const OutView& out);

}  // namespace foveal
