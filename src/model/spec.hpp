// What a family says about a tower: sizes, tensor names, and which of the known parts it is made
// of. A description only: no weight, no device, nothing to compute with. tower.cpp loads and runs
// any of these.
#pragma once

#include "model/preprocess.hpp"
#include "ops/interpolate.hpp"
#include "ops/linear.hpp"
#include "ops/norm.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace foveal {

enum class Bias : std::uint8_t { kNo, kYes };

// Tensors NAME.weight (out, in) and NAME.bias (out).
struct LinearSpec {
  std::string name;
  Bias bias = Bias::kYes;
};

// Tensors NAME.weight and, for LayerNorm, NAME.bias.
struct NormSpec {
  std::string name;
  ops::NormKind kind = ops::NormKind::kLayerNorm;
  double eps = 1e-6;
};

// Patch embedding: a convolution whose stride is its kernel, run as one matrix product.
struct PatchSpec {
  PatchGeometry geometry;
  LinearSpec projection;  // weight (hidden, 3, [temporal,] patch, patch)
  int weight_rank = 4;    // 5 for a Conv3d, whatever its temporal size
};

struct PositionSpec {
  enum class Use : std::uint8_t {
    kAsTrained,  // other grids only when the caller asks for interpolation
    kAlways,     // resampled whenever the grid differs
  };
  std::string table;  // (N, hidden) or (1, N, hidden)
  int table_rank = 2;
  ops::GridSize grid;        // of the table, without the CLS row
  bool has_cls_row = false;  // row 0 belongs to the CLS token
  ops::GridFilter filter = ops::GridFilter::kBicubic;
  Use use = Use::kAsTrained;
};

// Tokens before the patches. The first is CLS where there is one.
struct PrefixSpec {
  std::string name;
  std::int64_t count = 1;
  int rank = 1;  // of the tensor on disk: (hidden), (1, 1, hidden), (1, count, hidden)
};

// 2-D rotary: head_dim / 4 frequencies for h, as many for w, the whole repeated; rotate_half.
struct RopeSpec {
  double theta = 10000.0;
};

struct AttentionSpec {
  // Fused (3 * width, hidden), or empty names q, k, v.
  std::optional<LinearSpec> qkv{};
  LinearSpec q{};
  LinearSpec k{};
  LinearSpec v{};
  LinearSpec proj{};
  std::int64_t num_heads = 0;
  std::int64_t head_dim = 0;
};

struct MlpSpec {
  enum class Kind : std::uint8_t {
    kPlain,       // fc1, activation, fc2
    kGated,       // act(fc1) * up, fc2
    kGatedFused,  // fc1 holds [gate; up] stacked
  };
  Kind kind = Kind::kPlain;
  LinearSpec fc1{};
  LinearSpec up{};
  LinearSpec fc2{};
  std::int64_t width = 0;  // of fc1's output (of one half where it is fused)
  ops::Activation activation = ops::Activation::kGelu;
};

// Names are relative to `prefix`, in which {} stands for the number of the layer.
struct BlockSpec {
  std::string prefix{};
  NormSpec norm1{};
  AttentionSpec attention{};
  std::string scale1{};  // (hidden) layer scale; empty: none
  NormSpec norm2{};
  MlpSpec mlp{};
  std::string scale2{};
};

struct WindowSpec {
  std::int64_t window_cells = 0;          // side in merged cells
  std::vector<std::int64_t> full_layers;  // these attend to the whole frame
};

enum class FinalNorm : std::uint8_t {
  kNone,       // last_hidden_state is the last block's output, nothing is normed here
  kAllTokens,  // last_hidden_state is normed
  kClsOnly,    // last_hidden_state is not normed, the CLS row that is pooled is
};

// pooled = act(dense(CLS after the final norm)); without `dense` the normed CLS itself.
struct ClsHead {
  std::optional<LinearSpec> dense;
  std::int64_t output_dim = 0;
  ops::Activation activation = ops::Activation::kNone;
};

// SigLIP: a learned probe attends to all tokens, then x + mlp(norm(x)).
struct AttentionPoolHead {
  std::string probe;    // (1, 1, hidden)
  std::string in_proj;  // NAME_weight (3 * hidden, hidden), NAME_bias
  LinearSpec out_proj;
  NormSpec norm;
  MlpSpec mlp;
  std::int64_t num_heads = 0;
};

// merge_size^2 neighbouring tokens become one visual token.
struct MergerSpec {
  enum class NormAt : std::uint8_t {
    kBeforeMerge /*(hidden)*/,
    kAfterMerge /*(hidden * merge^2)*/
  };
  NormSpec norm;
  NormAt norm_at = NormAt::kBeforeMerge;
  LinearSpec fc1, fc2;
  std::int64_t output_dim = 0;
  ops::Activation activation = ops::Activation::kGelu;
};

// No answer of its own: `pooled` is not among the outputs.
struct NoHead {};
using HeadSpec = std::variant<NoHead, ClsHead, AttentionPoolHead, MergerSpec>;

struct TowerSpec {
  std::string_view family;
  std::string model_type;
  std::int64_t hidden_size = 0;
  std::int64_t num_layers = 0;
  PatchSpec patch;
  std::vector<PrefixSpec> prefix_tokens;
  std::optional<PositionSpec> positions;
  std::optional<RopeSpec> rope;
  std::optional<NormSpec> pre_norm;  // before the first block
  BlockSpec block;
  std::optional<WindowSpec> windows;
  FinalNorm final_norm_use = FinalNorm::kNone;
  NormSpec final_norm;
  HeadSpec head;
  std::vector<std::int64_t> deepstack_layers;  // taken after these blocks
  std::vector<MergerSpec> deepstack;           // one each
  PreprocessSpec preprocess;

  // Prefixes that checkpoints of the family have; the one under which blocks are found counts.
  std::vector<std::string> weight_prefixes;
  std::vector<std::string> ignored_tensors;  // known and not needed, relative to the prefix
  std::vector<std::string_view>
      other_parts;  // with an empty prefix: names that belong to other heads

  bool has_cls() const { return !prefix_tokens.empty(); }
  std::int64_t prefix_rows() const {
    std::int64_t rows = 0;
    for (const PrefixSpec& p : prefix_tokens) {
      rows += p.count;
    }
    return rows;
  }
  // Rows come in merge blocks and pictures are packed by grids: a vision language model's tower.
  bool is_merging() const { return patch.geometry.merge_size > 1; }
};

}  // namespace foveal
