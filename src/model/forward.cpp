#include "model/forward.hpp"

#include "image/patchify.hpp"
#include "layers/block.hpp"
#include "ops/rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

namespace foveal {
namespace {

// Calls f(index, y, x) for the cells of a grid in token order: blocks of merge x merge, raster inside.
template <class F>
void for_each_cell(ops::GridSize grid, std::int64_t merge, F&& f) {
  std::int64_t index = 0;
  for (std::int64_t by = 0; by < grid.h; by += merge) {
    for (std::int64_t bx = 0; bx < grid.w; bx += merge) {
      for (std::int64_t y = by; y < by + merge; ++y) {
        for (std::int64_t x = bx; x < bx + merge; ++x) {
          f(index++, y, x);
        }
      }
    }
  }
}

ops::GridSize grid_of(const ImageTokens& t) { return {t.grid_h, t.grid_w}; }

// One forward pass: the steps in order, each a member function.
class Pass {
 public:
  Pass(const ForwardModel& model, std::span<const PreparedImage> images, const ForwardRequest& request,
       Arena& arena, std::span<ImageResult> results)
      : m_(model),
        images_(images),
        request_(request),
        arena_(arena),
        results_(results),
        pass_{model.exec, arena, model.compute},
        wanted_(request.outputs.begin(), request.outputs.end()) {}

  Status run() {
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

 private:
  std::int64_t merge() const { return m_.spec.patch.geometry.merge_size; }
  bool wants(std::string_view name) const { return wanted_.contains(name); }
  bool needs_tower() const {
    return std::any_of(wanted_.begin(), wanted_.end(),
                       [](std::string_view n) { return n != "pixel_values" && n != "grid_thw"; });
  }

  // ---- outputs ---------------------------------------------------------------------------------------------

  // Gives image i its rows [splits[i], splits[i+1]) of an (M, D) f32 tensor.
  void deliver(std::string_view name, const ConstTensorView& rows, const PackedSeqs& splits) {
    const std::int64_t d = rows.shape[1];
    for (std::size_t i = 0; i < results_.size(); ++i) {
      const Sequence s = splits[static_cast<std::int64_t>(i)];
      OutputRows out{.name = std::string(name), .shape = {s.length.v, d}, .values = {}, .integers = {}};
      const float* first = rows.as<float>() + s.begin.v * d;
      out.values.assign(first, first + s.length.v * d);
      results_[i].outputs.push_back(std::move(out));
    }
  }

  Status write_inputs() {
    const PatchLayout layout = patch_layout();
    for (std::size_t i = 0; i < images_.size(); ++i) {
      const PreparedImage& image = images_[i];
      if (wants("pixel_values")) {
        OutputRows out{.name = "pixel_values", .shape = {}, .values = {}, .integers = {}};
        if (m_.spec.is_merging()) {
          const PatchGrid grid = patch_grid(image.pixels.size(), layout);
          out.shape = {grid.rows(), grid.row_size};
          out.values.resize(static_cast<std::size_t>(grid.floats()));
          FOVEAL_TRY_STATUS(write_patches(image.pixels, m_.normalization, layout, out.values));
        } else {
          out.shape = {3, image.pixels.height, image.pixels.width};
          out.values.resize(image.pixels.rgb.size());
          FOVEAL_TRY_STATUS(write_planes(image.pixels, m_.normalization, out.values));
        }
        results_[i].outputs.push_back(std::move(out));
      }
      if (wants("grid_thw")) {
        const ImageTokens& t = image.tokens;
        results_[i].outputs.push_back({.name = "grid_thw",
                                       .shape = {1, 3},
                                       .values = {},
                                       .integers = {t.grid_t, t.grid_h, t.grid_w}});
      }
    }
    return {};
  }

  // ---- layout of the batch ---------------------------------------------------------------------------------

  PatchLayout patch_layout() const {
    const PatchGeometry& g = m_.spec.patch.geometry;
    return {.patch_size = g.patch_size,
            .temporal_patch_size = g.temporal_patch_size,
            .merge_size = g.merge_size,
            .channels = PatchChannels::kFirst};
  }

  Status make_sequences() {
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

  Result<AttentionPlan> plan_for(const PackedSeqs& q, const PackedSeqs& k, const AttentionSpec& attention) const {
    AttentionProblem problem;
    problem.heads.num_heads = attention.num_heads;
    problem.heads.head_dim = attention.head_dim;
    problem.q_seqs = q;
    problem.k_seqs = k;
    problem.dtype = m_.compute;
    problem.device = m_.exec.device;
    return make_plan(std::move(problem), m_.backends, m_.machine, m_.attention_backend);
  }

  // ---- embedding -------------------------------------------------------------------------------------------

  Status embed_patches() {
    const std::int64_t d = m_.spec.hidden_size;
    const std::int64_t total = grids_.full.total_tokens().v;
    FOVEAL_TRY(hidden_, arena_.take(DType::kF32, {image_rows_.total_tokens().v, d}, "hidden states"));
    const Arena::Mark mark = arena_.mark();
    FOVEAL_TRY(const TensorView patches, take_patches(total));
    FOVEAL_TRY(const TensorView projected, arena_.take(DType::kF32, {total, d}, "patch embeddings"));
    FOVEAL_TRY_STATUS(ops::linear(m_.exec, {.in = patches, .weights = &m_.weights.patch, .out = projected}));

    std::vector<std::shared_ptr<const Tensor>> tables;
    std::vector<ConstTensorView> positions;
    std::vector<std::int64_t> patch_rows;
    for (const PreparedImage& image : images_) {
      patch_rows.push_back(image.tokens.grid_t * image.tokens.grid_h * image.tokens.grid_w);
      if (m_.spec.positions) {
        FOVEAL_TRY(auto table, m_.positions.get(m_.spec, m_.weights.positions, grid_of(image.tokens)));
        positions.push_back(table->view());
        tables.push_back(std::move(table));
      }
    }
    FOVEAL_TRY(const PackedSeqs patch_seqs, PackedSeqs::from_lengths(std::span<const std::int64_t>(patch_rows)));
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
      FOVEAL_TRY_STATUS(ops::gather_rows(m_.exec, assembled, grids_.permutation, merge() * merge(), hidden_));
    }
    arena_.release(mark);
    if (m_.weights.pre_norm) {
      FOVEAL_TRY_STATUS(ops::norm(m_.exec, hidden_, *m_.weights.pre_norm, hidden_));
    }
    return {};
  }

  // Normalised patches of the batch, (total, row) in the compute dtype.
  Result<TensorView> take_patches(std::int64_t total) {
    const PatchLayout layout = patch_layout();
    const std::int64_t row = m_.weights.patch.k();
    FOVEAL_TRY(const TensorView out, arena_.take(DType::kF32, {total, row}, "patches"));
    std::vector<std::int64_t> first(images_.size() + 1, 0);
    for (std::size_t i = 0; i < images_.size(); ++i) {
      first[i + 1] = first[i] + patch_grid(images_[i].pixels.size(), layout).floats();
    }
    std::vector<Status> status(images_.size());
    m_.exec.pool->run(static_cast<std::int64_t>(images_.size()), [&](std::int64_t index, int /*worker*/) {
      const auto i = static_cast<std::size_t>(index);
      const std::span<float> rows(out.as<float>() + first[i], static_cast<std::size_t>(first[i + 1] - first[i]));
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

  // cos and sin of every token, in the order that the blocks see. Angles: [h freqs, w freqs], twice.
  Status make_rope() {
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
        const double angle = static_cast<double>(p) / std::pow(m_.spec.rope->theta, 2.0 * static_cast<double>(i) /
                                                                                         static_cast<double>(2 * axis));
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
        for_each_cell(grid_of(image.tokens), merge(), [&](std::int64_t index, std::int64_t y, std::int64_t x) {
          const std::int64_t row = place.empty() ? base + index : place[static_cast<std::size_t>(base + index)];
          for (const auto& [table, from] : {std::pair{cos, &cos_axis}, std::pair{sin, &sin_axis}}) {
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

  // place[r]: row of the window order that row r of the given order moves to; empty where nothing moves.
  std::vector<std::int64_t> token_places() const {
    const std::int64_t unit = merge() * merge();
    std::vector<std::int64_t> place(grids_.permutation.size() * static_cast<std::size_t>(unit));
    for (std::size_t i = 0; i < grids_.permutation.size(); ++i) {
      for (std::int64_t j = 0; j < unit; ++j) {
        place[static_cast<std::size_t>(grids_.permutation[i] * unit + j)] = static_cast<std::int64_t>(i) * unit + j;
      }
    }
    return place;
  }

  // ---- blocks ----------------------------------------------------------------------------------------------

  // The number of blocks that the wanted outputs need.
  std::int64_t blocks_needed() const {
    std::int64_t needed = 0;
    for (const std::string_view name : wanted_) {
      constexpr std::string_view kHidden = "hidden_states.";
      if (name.starts_with(kHidden)) {
        needed = std::max(needed, static_cast<std::int64_t>(std::stoll(std::string(name.substr(kHidden.size())))));
      } else if (name.starts_with("deepstack.") || name == "last_hidden_state" ||
                 (name == "pooled" && !request_.layer)) {
        return m_.spec.num_layers;
      }
    }
    return request_.layer && wants("pooled") ? std::max(needed, *request_.layer) : needed;
  }

  bool attends_fully(std::int64_t layer) const {
    if (!m_.spec.windows) {
      return true;
    }
    const auto& full = m_.spec.windows->full_layers;
    return std::find(full.begin(), full.end(), layer) != full.end();
  }

  Status capture(std::int64_t layer) {
    if (const std::string name = "hidden_states." + std::to_string(layer); wants(name)) {
      deliver(name, hidden_, image_rows_);
    }
    if (request_.layer == layer && wants("pooled")) {
      return write_layer_pooled();
    }
    return {};
  }

  Status run_blocks() {
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

  // ---- answers ---------------------------------------------------------------------------------------------

  Status write_last_hidden_state() {
    if (!wants("last_hidden_state")) {
      return {};
    }
    if (m_.spec.final_norm_use != FinalNorm::kAllTokens) {
      deliver("last_hidden_state", hidden_, image_rows_);
      return {};
    }
    const Arena::Mark mark = arena_.mark();
    FOVEAL_TRY(const TensorView normed, arena_.take(DType::kF32, hidden_.shape, "last hidden state"));
    FOVEAL_TRY_STATUS(ops::norm(m_.exec, hidden_, *m_.weights.final_norm, normed));
    deliver("last_hidden_state", normed, image_rows_);
    arena_.release(mark);
    return {};
  }

  void normalize_rows(const TensorView& rows) const {
    if (request_.normalize != Normalize::kYes) {
      return;
    }
    const std::int64_t d = rows.shape[1];
    for (std::int64_t r = 0; r < rows.shape[0]; ++r) {
      float* row = rows.as<float>() + r * d;
      double sum = 0;
      for (std::int64_t i = 0; i < d; ++i) {
        sum += static_cast<double>(row[i]) * static_cast<double>(row[i]);
      }
      const auto inverse = static_cast<float>(sum > 0 ? 1.0 / std::sqrt(sum) : 0.0);
      for (std::int64_t i = 0; i < d; ++i) {
        row[i] *= inverse;
      }
    }
  }

  Status deliver_pooled(const TensorView& rows, const PackedSeqs& splits) {
    normalize_rows(rows);
    deliver("pooled", rows, splits);
    return {};
  }

  Result<PackedSeqs> one_row_each() const {
    return PackedSeqs::from_equal({.batch = image_rows_.size(), .seq_len = Tokens(1)});
  }

  // First row of every image, (B, D) f32.
  Result<TensorView> cls_rows() {
    FOVEAL_TRY(const TensorView rows,
               arena_.take(DType::kF32, {image_rows_.size(), m_.spec.hidden_size}, "CLS rows"));
    const std::span<const std::int32_t> first =
        image_rows_.cu_seqlens().first(static_cast<std::size_t>(image_rows_.size()));
    FOVEAL_TRY_STATUS(ops::gather_rows(m_.exec, hidden_, first, 1, rows));
    return rows;
  }

  // --layer N: CLS of hidden_states.N, the mean where there is no CLS.
  Status write_layer_pooled() {
    const Arena::Mark mark = arena_.mark();
    FOVEAL_TRY(const PackedSeqs splits, one_row_each());
    TensorView rows;
    if (m_.spec.has_cls()) {
      FOVEAL_TRY(rows, cls_rows());
    } else {
      FOVEAL_TRY(rows, arena_.take(DType::kF32, {image_rows_.size(), m_.spec.hidden_size}, "means"));
      FOVEAL_TRY_STATUS(ops::mean_rows(m_.exec, hidden_, image_rows_, Tokens(0), rows));
    }
    FOVEAL_TRY_STATUS(deliver_pooled(rows, splits));
    arena_.release(mark);
    return {};
  }

  Status write_pooled() {
    if (!wants("pooled") || request_.layer) {
      return {};
    }
    const Arena::Mark mark = arena_.mark();
    if (const auto* cls = std::get_if<ClsHead>(&m_.spec.head)) {
      FOVEAL_TRY_STATUS(write_cls_head(*cls));
    } else if (const auto* pool = std::get_if<AttentionPoolHead>(&m_.spec.head)) {
      FOVEAL_TRY_STATUS(write_attention_pool(*pool));
    } else if (const auto* merger = std::get_if<MergerSpec>(&m_.spec.head)) {
      FOVEAL_TRY_STATUS(write_merged("pooled", *merger, *m_.weights.merger));
    }
    arena_.release(mark);
    return {};
  }

  Status write_cls_head(const ClsHead& head) {
    FOVEAL_TRY(const PackedSeqs splits, one_row_each());
    FOVEAL_TRY(const TensorView rows, cls_rows());
    if (!head.dense) {
      FOVEAL_TRY_STATUS(ops::norm(m_.exec, rows, *m_.weights.final_norm, rows));
      return deliver_pooled(rows, splits);
    }
    FOVEAL_TRY(const TensorView in, layers::normed(pass_, *m_.weights.final_norm, rows));
    FOVEAL_TRY(const TensorView out, arena_.take(DType::kF32, {rows.shape[0], head.output_dim}, "pooled"));
    FOVEAL_TRY_STATUS(ops::linear(
        m_.exec,
        {.in = in, .weights = &*m_.weights.dense, .out = out, .activation = head.activation}));
    return deliver_pooled(out, splits);
  }

  Status write_attention_pool(const AttentionPoolHead& head) {
    const AttentionPoolWeights& w = *m_.weights.pool;
    const std::int64_t d = m_.spec.hidden_size;
    const std::int64_t batch = image_rows_.size();
    const std::int64_t head_dim = d / head.num_heads;
    FOVEAL_TRY(const PackedSeqs one_each, one_row_each());
    FOVEAL_TRY(const TensorView in, layers::normed(pass_, *m_.weights.final_norm, hidden_));
    FOVEAL_TRY(const TensorView kv, arena_.take(m_.compute, {in.shape[0], 2 * d}, "pooling keys and values"));
    FOVEAL_TRY_STATUS(ops::linear(m_.exec, {.in = in, .weights = &w.kv, .out = kv}));
    FOVEAL_TRY(const TensorView query, arena_.take(m_.compute, {1, d}, "pooling query"));
    FOVEAL_TRY_STATUS(ops::convert(m_.exec, ConstTensorView(w.query.data<float>(), DType::kF32, {1, d}), query));

    // One query for all pictures: a row stride of 0.
    const Strides q_strides{Elements(0), Elements(head_dim), Elements(1)};
    const Strides kv_strides{Elements(2 * d), Elements(head_dim), Elements(1)};
    const Shape kv_shape{in.shape[0], head.num_heads, head_dim};
    auto* values = kv.as<std::byte>() + d * dtype_size(m_.compute).v;
    FOVEAL_TRY(const TensorView context,
               arena_.take(m_.compute, {batch, head.num_heads, head_dim}, "pooled context"));
    FOVEAL_TRY(const AttentionPlan plan,
               plan_for(one_each, image_rows_, {.num_heads = head.num_heads, .head_dim = head_dim}));
    FOVEAL_TRY_STATUS(layers::run_attention(
        pass_, plan,
        {.q = ConstTensorView(query.data, m_.compute, {batch, head.num_heads, head_dim}, q_strides),
         .k = ConstTensorView(kv.data, m_.compute, kv_shape, kv_strides),
         .v = ConstTensorView(values, m_.compute, kv_shape, kv_strides)},
        context));
    FOVEAL_TRY(const TensorView out, arena_.take(DType::kF32, {batch, d}, "pooled"));
    FOVEAL_TRY_STATUS(ops::linear(
        m_.exec, {.in = ConstTensorView(context.data, m_.compute, {batch, d}), .weights = &w.proj, .out = out}));
    FOVEAL_TRY(const TensorView mlp_in, layers::normed(pass_, w.norm, out));
    FOVEAL_TRY_STATUS(layers::mlp(pass_, w.mlp, {.in = mlp_in, .out = out, .residual = out}));
    return deliver_pooled(out, one_each);
  }

  // Visual tokens: every merge^2 rows become one; out of window order where there is one.
  Status write_merged(std::string_view name, const MergerSpec& spec, const MergerWeights& weights) {
    const Arena::Mark mark = arena_.mark();
    const std::int64_t unit = merge() * merge();
    const std::int64_t cells = hidden_.shape[0] / unit;
    const std::int64_t merged = m_.spec.hidden_size * unit;
    const ConstTensorView wide(hidden_.data, DType::kF32, {cells, merged});
    const bool before = spec.norm_at == MergerSpec::NormAt::kBeforeMerge;
    FOVEAL_TRY(const TensorView in, layers::normed(pass_, weights.norm, before ? ConstTensorView(hidden_) : wide));
    FOVEAL_TRY(TensorView out, arena_.take(DType::kF32, {cells, spec.output_dim}, "visual tokens"));
    FOVEAL_TRY_STATUS(layers::mlp(
        pass_, weights.mlp, {.in = ConstTensorView(in.data, m_.compute, {cells, merged}), .out = out}));
    if (m_.spec.windows) {
      std::vector<std::int32_t> inverse(grids_.permutation.size());
      for (std::size_t i = 0; i < inverse.size(); ++i) {
        inverse[static_cast<std::size_t>(grids_.permutation[i])] = static_cast<std::int32_t>(i);
      }
      FOVEAL_TRY(const TensorView ordered, arena_.take(DType::kF32, out.shape, "visual tokens"));
      FOVEAL_TRY_STATUS(ops::gather_rows(m_.exec, out, inverse, 1, ordered));
      out = ordered;
    }
    std::vector<std::int64_t> rows;
    for (const std::int32_t length : image_rows_.seqlens()) {
      rows.push_back(length / unit);
    }
    FOVEAL_TRY(const PackedSeqs splits, PackedSeqs::from_lengths(std::span<const std::int64_t>(rows)));
    if (name == "pooled") {
      normalize_rows(out);
    }
    deliver(name, out, splits);
    arena_.release(mark);
    return {};
  }

  const ForwardModel& m_;
  std::span<const PreparedImage> images_;
  const ForwardRequest& request_;
  Arena& arena_;
  std::span<ImageResult> results_;
  layers::Pass pass_;
  std::set<std::string_view> wanted_;

  GridSeqs grids_;          // frames and windows of patches
  PackedSeqs image_rows_;   // rows of each image in the tower, prefix tokens included
  std::optional<AttentionPlan> full_plan_;
  std::optional<AttentionPlan> window_plan_;
  std::optional<layers::RopeTable> rope_;
  TensorView hidden_;  // (T, hidden) f32
};

}  // namespace

Result<std::shared_ptr<const Tensor>> PositionCache::get(const TowerSpec& spec, const Tensor& table,
                                                         ops::GridSize grid) {
  const std::lock_guard lock(mutex_);
  for (auto it = entries_.begin(); it != entries_.end(); ++it) {
    if (it->first == grid) {
      entries_.splice(entries_.begin(), entries_, it);
      return it->second;
    }
  }
  const PositionSpec& positions = *spec.positions;
  const std::int64_t d = spec.hidden_size;
  const std::int64_t merge = spec.patch.geometry.merge_size;
  FOVEAL_TRY(Tensor out, Tensor::allocate(DType::kF32, {grid.h * grid.w, d}, "positions"));
  Tensor resampled;
  const float* from = table.data<float>();
  if (!(grid == positions.grid)) {
    FOVEAL_TRY(resampled, ops::interpolate_grid(table.view(), positions.grid, grid, positions.filter));
    from = resampled.data<float>();
  }
  for_each_cell(grid, merge, [&](std::int64_t index, std::int64_t y, std::int64_t x) {
    std::memcpy(out.data<float>() + index * d, from + (y * grid.w + x) * d, static_cast<std::size_t>(d) * sizeof(float));
  });
  auto shared = std::make_shared<const Tensor>(std::move(out));
  entries_.emplace_front(grid, shared);
  if (entries_.size() > kEntries) {
    entries_.pop_back();
  }
  return shared;
}

Status run_forward(const ForwardModel& model, std::span<const PreparedImage> images,
                   const ForwardRequest& request, Arena& arena, std::span<ImageResult> results) {
  arena.reset();
  return Pass(model, images, request, arena, results).run();
}

std::vector<std::string> output_names(const TowerSpec& spec) {
  std::vector<std::string> out;
  if (!std::holds_alternative<NoHead>(spec.head)) {
    out.emplace_back("pooled");
  }
  out.emplace_back("last_hidden_state");
  for (std::int64_t i = 0; i <= spec.num_layers; ++i) {
    out.push_back("hidden_states." + std::to_string(i));
  }
  for (std::size_t i = 0; i < spec.deepstack.size(); ++i) {
    out.push_back("deepstack." + std::to_string(i));
  }
  out.emplace_back("pixel_values");
  if (spec.is_merging()) {
    out.emplace_back("grid_thw");
  }
  return out;
}

}  // namespace foveal
