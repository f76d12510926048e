// One packed forward pass over a batch, as the steps it takes: its own header because the steps
// (forward.cpp) and the answers (answers.cpp) are two files. Nothing outside of them includes it.
#pragma once

#include "image/patchify.hpp"
#include "layers/block.hpp"
#include "model/forward.hpp"

#include <optional>
#include <set>
#include <string_view>
#include <vector>

namespace foveal {

class ForwardPass {
 public:
  ForwardPass(const ForwardModel& model, std::span<const PreparedImage> images,
              const ForwardRequest& request, Arena& arena, std::span<ImageResult> results)
      : m_(model),
        images_(images),
        request_(request),
        arena_(arena),
        results_(results),
        pass_{model.exec, arena, model.compute},
        wanted_(request.outputs.begin(), request.outputs.end()) {}

  Status run();

 private:
  std::int64_t merge() const { return m_.spec.patch.geometry.merge_size; }
  bool wants(std::string_view name) const { return wanted_.contains(name); }
  bool needs_tower() const;

  // Steps (forward.cpp).
  PatchLayout patch_layout() const;
  Status make_sequences();
  Result<AttentionPlan> plan_for(const PackedSeqs& q, const PackedSeqs& k,
                                 const AttentionSpec& attention) const;
  Status embed_patches();
  // Normalised patches of the batch, (total, row) in the compute dtype.
  Result<TensorView> take_patches(std::int64_t total);
  // cos and sin of every token, in the order that the blocks see. Angles: [h freqs, w freqs],
  // twice.
  Status make_rope();
  // place[r]: row of the window order that row r of the given order moves to; empty where nothing
  // moves.
  std::vector<std::int64_t> token_places() const;
  // The number of blocks that the wanted outputs need.
  std::int64_t blocks_needed() const;
  bool attends_fully(std::int64_t layer) const;
  Status capture(std::int64_t layer);
  Status run_blocks();

  // Answers (answers.cpp).
  // Gives image i its rows [splits[i], splits[i+1]) of an (M, D) f32 tensor.
  void deliver(std::string_view name, const ConstTensorView& rows, const PackedSeqs& splits);
  Status write_inputs();
  Status write_last_hidden_state();
  void normalize_rows(const TensorView& rows) const;
  Status deliver_pooled(const TensorView& rows, const PackedSeqs& splits);
  Result<PackedSeqs> one_row_each() const;
  // First row of every image, (B, D) f32.
  Result<TensorView> cls_rows();
  // --layer N: CLS of hidden_states.N, the mean where there is no CLS.
  Status write_layer_pooled();
  Status write_pooled();
  Status write_cls_head(const ClsHead& head);
  Status write_attention_pool(const AttentionPoolHead& head);
  // Visual tokens: every merge^2 rows become one; out of window order where there is one.
  Status write_merged(std::string_view name, const MergerSpec& spec, const MergerWeights& weights);

  const ForwardModel& m_;
  std::span<const PreparedImage> images_;
  const ForwardRequest& request_;
  Arena& arena_;
  std::span<ImageResult> results_;
  layers::Pass pass_;
  std::set<std::string_view> wanted_;

  GridSeqs grids_;         // frames and windows of patches
  PackedSeqs image_rows_;  // rows of each image in the tower, prefix tokens included
  std::optional<AttentionPlan> full_plan_;
  std::optional<AttentionPlan> window_plan_;
  std::optional<layers::RopeTable> rope_;
  TensorView hidden_;  // (T, hidden) f32
};

}  // namespace foveal
