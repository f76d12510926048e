// Checks and defaults of an attention problem.
#include <foveal/attention/plan.hpp>

#include <cmath>
#include <string>

namespace foveal {
namespace {

Status check_dim(std::string_view what, std::int64_t value) {
  if (value < 8 || value > 256 || value % 8 != 0) {
    return Error(ErrorCode::kHeadDimInvalid, {{"what", what}, {"value", value}});
  }
  return {};
}

Error option(std::string_view name, std::string value, std::string_view expected) {
  return Error(ErrorCode::kOptionInvalid,
               {{"option", name}, {"value", std::move(value)}, {"expected", expected}});
}

Status check_options(const AttentionOptions& o) {
  if (o.softmax_scale && !std::isfinite(*o.softmax_scale)) {
    return option("softmax_scale", std::to_string(*o.softmax_scale),
                  "softmax_scale is a finite number");
  }
  if (o.softcap && !(*o.softcap > 0 && std::isfinite(*o.softcap))) {
    return option("softcap", std::to_string(*o.softcap),
                  "softcap is a positive number; leave it out for none");
  }
  for (const auto& [name, limit] :
       {std::pair{"window_left", o.window_left}, std::pair{"window_right", o.window_right}}) {
    if (limit && limit->v < 0) {
      return option(name, std::to_string(limit->v),
                    "a window limit is 0 tokens or more; leave it out for unbounded");
    }
  }
  return {};
}

}  // namespace

float AttentionProblem::softmax_scale() const {
  return options.softmax_scale
             ? *options.softmax_scale
             : static_cast<float>(1.0 / std::sqrt(static_cast<double>(heads.head_dim)));
}

std::optional<Tokens> AttentionProblem::window_right() const {
  return options.causal == Causal::kYes ? std::optional(Tokens(0)) : options.window_right;
}

double AttentionProblem::flops() const {
  double pairs = 0;
  for (std::int64_t i = 0; i < q_seqs.size(); ++i) {
    pairs += static_cast<double>(q_seqs[i].length.v) * static_cast<double>(k_seqs[i].length.v);
  }
  return 2.0 * pairs * static_cast<double>(heads.num_heads) *
         static_cast<double>(heads.head_dim + heads.v_head_dim);
}

Result<AttentionProblem> checked(AttentionProblem p) {
  AttentionHeads& h = p.heads;
  h.num_kv_heads = h.num_kv_heads == 0 ? h.num_heads : h.num_kv_heads;
  h.v_head_dim = h.v_head_dim == 0 ? h.head_dim : h.v_head_dim;
  if (h.num_heads < 1 || h.num_kv_heads < 1 || h.num_heads % h.num_kv_heads != 0) {
    return Error(ErrorCode::kHeadsInvalid,
                 {{"num_heads", h.num_heads}, {"num_kv_heads", h.num_kv_heads}});
  }
  FOVEAL_TRY_STATUS(check_dim("head_dim", h.head_dim));
  FOVEAL_TRY_STATUS(check_dim("v_head_dim", h.v_head_dim));
  FOVEAL_TRY_STATUS(check_options(p.options));
  if (p.dtype != DType::kF32 && p.dtype != DType::kF16 && p.dtype != DType::kBF16) {
    return Error(
        ErrorCode::kDtypeUnsupported,
        {{"what", "attention"}, {"dtype", dtype_name(p.dtype)}, {"expected", "f32, f16, bf16"}});
  }
  if (p.q_seqs.size() != p.k_seqs.size()) {
    return Error(ErrorCode::kSequenceCountMismatch,
                 {{"q_sequences", p.q_seqs.size()}, {"k_sequences", p.k_seqs.size()}});
  }
  return p;
}

}  // namespace foveal
