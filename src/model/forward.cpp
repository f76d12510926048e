// The steps of a packed forward pass, in the order they run.
#include "model/forward_pass.hpp"
#include "model/token_order.hpp"
#include "ops/rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace foveal {
namespace {

ops::GridSize grid_of(const ImageTokens& t) {
  return {t.grid_h, t.grid_w};
}

}  // namespace

Status ForwardPass::run() {
  FOVEAL_TRY_STATUS(write_inputs());
  if (!needs_tower()) {
    return {};
  }
  FOVEAL_TRY_STATUS(make_sequences());
  FOVEAL_TRY_STATUS(embed_patches());
  FOVEAL_TRY_STATUS(make_rope());
  FOVEAL_TRY_STATUS(run_blocks());
  FOVEAL_TRY_STATUS(write_last_hidden_state());
  return write_pooled();
}

bool ForwardPass::needs_tower() const {
  return std::any_of(wanted_.begin(), wanted_.end(), [](std::string_view name) {
    return name != "pixel_values" && name != "grid_thw";
  });
}

PatchLayout ForwardPass::patch_layout() const {
  const PatchGeometry& g = m_.spec.patch.geometry;
  return {.patch_size = g.patch_size,
          .temporal_patch_size = g.temporal_patch_size,
          .merge_size = g.merge_size,
          .channels = PatchChannels::kFirst};
}

Status ForwardPass::make_sequences() {
  std::vector<GridThw> grids;
  std::vector<std::int64_t> rows;
  for (const PreparedImage& image : images_) {
    const ImageTokens& t = image.tokens;
    grids.push_back({t.grid_t, t.grid_h, t.grid_w});
    rows.push_back(m_.spec.prefix_rows() + t.grid_t * t.grid_h * t.grid_w);
  }
  GridOptions options{.merge_size = merge(), .window_cells = std::nullopt};
  if (m_.spec.windows) {
    options.window_cells = m_.spec.windows->window_cells;
  }
  FOVEAL_TRY(grids_, seqs_from_grid(grids, options));
  FOVEAL_TRY(image_rows_, PackedSeqs::from_lengths(std::span<const std::int64_t>(rows)));
  // A tower with prefix tokens has one frame an image, so its sequences are its images.
  const PackedSeqs& full = m_.spec.is_merging() ? grids_.full : image_rows_;
  FOVEAL_TRY(full_plan_, plan_for(full, full, m_.spec.block.attention));
  if (m_.spec.windows) {
    FOVEAL_TRY(window_plan_, plan_for(grids_.windows, grids_.windows, m_.spec.block.attention));
  }
  return {};
}

Result<AttentionPlan> ForwardPass::plan_for(const PackedSeqs& q, const PackedSeqs& k,
                                            const AttentionSpec& attention) const {
  AttentionProblem problem;
  problem.heads.num_heads = attention.num_heads;
  problem.heads.head_dim = attention.head_dim;
  problem.q_seqs = q;
  problem.k_seqs = k;
  problem.dtype = m_.compute;
  problem.device = m_.exec.device;
  return make_plan(std::move(problem), m_.backends, m_.machine, m_.attention_backend);
}

Status ForwardPass::embed_patches() {
  const std::int64_t d = m_.spec.hidden_size;
  const std::int64_t total = grids_.full.total_tokens().v;
  FOVEAL_TRY(hidden_, arena_.take(DType::kF32, {image_rows_.total_tokens().v, d}, "hidden states"));
  const Arena::Mark mark = arena_.mark();
  FOVEAL_TRY(const TensorView patches, take_patches(total));
  FOVEAL_TRY(const TensorView projected, arena_.take(DType::kF32, {total, d}, "patch embeddings"));
  FOVEAL_TRY_STATUS(
      ops::linear(m_.exec, {.in = patches, .weights = &m_.weights.patch, .out = projected}));

  std::vector<std::shared_ptr<const Tensor>> tables;
  std::vector<ConstTensorView> positions;
  std::vector<std::int64_t> patch_rows;
  for (const PreparedImage& image : images_) {
    patch_rows.push_back(image.tokens.grid_t * image.tokens.grid_h * image.tokens.grid_w);
    if (m_.spec.positions) {
      FOVEAL_TRY(auto table,
                 m_.positions.get(m_.spec, m_.weights.positions, grid_of(image.tokens)));
      positions.push_back(table->view());
      tables.push_back(std::move(table));
    }
  }
  FOVEAL_TRY(const PackedSeqs patch_seqs,
             PackedSeqs::from_lengths(std::span<const std::int64_t>(patch_rows)));
  TensorView assembled = hidden_;
  if (m_.spec.windows) {
    FOVEAL_TRY(assembled, arena_.take(DType::kF32, hidden_.shape, "tokens in given order"));
  }
  FOVEAL_TRY_STATUS(ops::assemble_tokens(m_.exec, {.prefix = m_.weights.prefix.view(),
                                                   .patches = projected,
                                                   .positions = positions,
                                                   .patch_seqs = patch_seqs,
                                                   .out = assembled}));
  if (m_.spec.windows) {
    FOVEAL_TRY_STATUS(
        ops::gather_rows(m_.exec, assembled, grids_.permutation, merge() * merge(), hidden_));
  }
  arena_.release(mark);
  if (m_.weights.pre_norm) {
    FOVEAL_TRY_STATUS(ops::norm(m_.exec, hidden_, *m_.weights.pre_norm, hidden_));
  }
  return {};
}

Result<TensorView> ForwardPass::take_patches(std::int64_t total) {
  const PatchLayout layout = patch_layout();
  const std::int64_t row = m_.weights.patch.k();
  FOVEAL_TRY(const TensorView out, arena_.take(DType::kF32, {total, row}, "patches"));
  std::vector<std::int64_t> first(images_.size() + 1, 0);
  for (std::size_t i = 0; i < images_.size(); ++i) {
    first[i + 1] = first[i] + patch_grid(images_[i].pixels.size(), layout).floats();
  }
  std::vector<Status> status(images_.size());
  m_.exec.pool->run(
      static_cast<std::int64_t>(images_.size()), [&](std::int64_t index, int /*worker*/) {
        const auto i = static_cast<std::size_t>(index);
        const std::span<float> rows(out.as<float>() + first[i],
                                    static_cast<std::size_t>(first[i + 1] - first[i]));
        status[i] = write_patches(images_[i].pixels, m_.normalization, layout, rows);
      });
  for (const Status& s : status) {
    if (!s) {
      return s.error();
    }
  }
  if (m_.compute == DType::kF32) {
    return out;
  }
  FOVEAL_TRY(const TensorView converted, arena_.take(m_.compute, {total, row}, "patches"));
  FOVEAL_TRY_STATUS(ops::convert(m_.exec, out, converted));
  return converted;
}

Status ForwardPass::make_rope() {
  if (!m_.spec.rope) {
    return {};
  }
  const std::int64_t head_dim = m_.spec.block.attention.head_dim;
  const std::int64_t axis = head_dim / 4;  // frequencies an axis
  std::int64_t side = 0;
  for (const PreparedImage& image : images_) {
    side = std::max({side, image.tokens.grid_h, image.tokens.grid_w});
  }
  std::vector<float> cos_axis(static_cast<std::size_t>(side * axis));
  std::vector<float> sin_axis(cos_axis.size());
  for (std::int64_t p = 0; p < side; ++p) {
    for (std::int64_t i = 0; i < axis; ++i) {
      const double angle = static_cast<double>(p) /
                           std::pow(m_.spec.rope->theta,
                                    2.0 * static_cast<double>(i) / static_cast<double>(2 * axis));
      cos_axis[static_cast<std::size_t>(p * axis + i)] = static_cast<float>(std::cos(angle));
      sin_axis[static_cast<std::size_t>(p * axis + i)] = static_cast<float>(std::sin(angle));
    }
  }
  const std::int64_t total = grids_.full.total_tokens().v;
  FOVEAL_TRY(const TensorView cos, arena_.take(DType::kF32, {total, head_dim}, "rotary cos"));
  FOVEAL_TRY(const TensorView sin, arena_.take(DType::kF32, {total, head_dim}, "rotary sin"));
  const std::vector<std::int64_t> place = token_places();
  std::int64_t base = 0;
  const auto bytes = static_cast<std::size_t>(axis) * sizeof(float);
  for (const PreparedImage& image : images_) {
    for (std::int64_t t = 0; t < image.tokens.grid_t; ++t) {
      for_each_cell(
          grid_of(image.tokens), merge(), [&](std::int64_t index, std::int64_t y, std::int64_t x) {
            const std::int64_t row =
                place.empty() ? base + index : place[static_cast<std::size_t>(base + index)];
            for (const auto& [table, from] :
                 {std::pair{cos, &cos_axis}, std::pair{sin, &sin_axis}}) {
              float* to = table.as<float>() + row * head_dim;
              for (std::int64_t half = 0; half < 2; ++half) {
                std::memcpy(to + half * 2 * axis, from->data() + y * axis, bytes);
                std::memcpy(to + half * 2 * axis + axis, from->data() + x * axis, bytes);
              }
            }
          });
      base += image.tokens.grid_h * image.tokens.grid_w;
    }
  }
  rope_ = layers::RopeTable{
      .cos = cos.as<float>(), .sin = sin.as<float>(), .style = ops::RopeStyle::kRotateHalf};
  return {};
}

std::vector<std::int64_t> ForwardPass::token_places() const {
  const std::int64_t unit = merge() * merge();
  std::vector<std::int64_t> place(grids_.permutation.size() * static_cast<std::size_t>(unit));
  for (std::size_t i = 0; i < grids_.permutation.size(); ++i) {
    for (std::int64_t j = 0; j < unit; ++j) {
      place[static_cast<std::size_t>(grids_.permutation[i] * unit + j)] =
          static_cast<std::int64_t>(i) * unit + j;
    }
  }
  return place;
}

std::int64_t ForwardPass::blocks_needed() const {
  std::int64_t needed = 0;
  for (const std::string_view name : wanted_) {
    constexpr std::string_view kHidden = "hidden_states.";
    if (name.starts_with(kHidden)) {
      needed = std::max(
          needed, static_cast<std::int64_t>(std::stoll(std::string(name.substr(kHidden.size())))));
    } else if (name.starts_with("deepstack.") || name == "last_hidden_state" ||
               (name == "pooled" && !request_.layer)) {
      return m_.spec.num_layers;
    }
  }
  return request_.layer && wants("pooled") ? std::max(needed, *request_.layer) : needed;
}

bool ForwardPass::attends_fully(std::int64_t layer) const {
  if (!m_.spec.windows) {
    return true;
  }
  const auto& full = m_.spec.windows->full_layers;
  return std::find(full.begin(), full.end(), layer) != full.end();
}

Status ForwardPass::capture(std::int64_t layer) {
  if (const std::string name = "hidden_states." + std::to_string(layer); wants(name)) {
    deliver(name, hidden_, image_rows_);
  }
  if (request_.layer == layer && wants("pooled")) {
    return write_layer_pooled();
  }
  return {};
}

Status ForwardPass::run_blocks() {
  FOVEAL_TRY_STATUS(capture(0));
  const std::int64_t needed = blocks_needed();
  for (std::int64_t layer = 0; layer < needed; ++layer) {
    FOVEAL_TRY_STATUS(layers::block(pass_, m_.weights.blocks[static_cast<std::size_t>(layer)],
                                    {.plan = attends_fully(layer) ? &*full_plan_ : &*window_plan_,
                                     .rope = rope_,
                                     .hidden = hidden_}));
    FOVEAL_TRY_STATUS(capture(layer + 1));
    for (std::size_t i = 0; i < m_.spec.deepstack_layers.size(); ++i) {
      const std::string name = "deepstack." + std::to_string(i);
      if (m_.spec.deepstack_layers[i] == layer && wants(name)) {
        FOVEAL_TRY_STATUS(write_merged(name, m_.spec.deepstack[i], m_.weights.deepstack[i]));
      }
    }
  }
  return {};
}

Status run_forward(const ForwardModel& model, std::span<const PreparedImage> images,
                   const ForwardRequest& request, Arena& arena, std::span<ImageResult> results) {
  arena.reset();
  return ForwardPass(model, images, request, arena, results).run();
}

}  // namespace foveal
