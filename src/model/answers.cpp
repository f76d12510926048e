// What a forward pass gives its images: rows of hidden states, pooled vectors, merged visual
// tokens.
#include "model/forward_pass.hpp"
#include "ops/rows.hpp"

#include <cmath>

namespace foveal {

void ForwardPass::deliver(std::string_view name, const ConstTensorView& rows,
                          const PackedSeqs& splits) {
  const std::int64_t d = rows.shape[1];
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const Sequence s = splits[static_cast<std::int64_t>(i)];
    OutputRows out{
        .name = std::string(name), .shape = {s.length.v, d}, .values = {}, .integers = {}};
    const float* first = rows.as<float>() + s.begin.v * d;
    out.values.assign(first, first + s.length.v * d);
    results_[i].outputs.push_back(std::move(out));
  }
}

Status ForwardPass::write_inputs() {
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

Status ForwardPass::write_last_hidden_state() {
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

void ForwardPass::normalize_rows(const TensorView& rows) const {
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

Status ForwardPass::deliver_pooled(const TensorView& rows, const PackedSeqs& splits) {
  normalize_rows(rows);
  deliver("pooled", rows, splits);
  return {};
}

Result<PackedSeqs> ForwardPass::one_row_each() const {
  return PackedSeqs::from_equal({.batch = image_rows_.size(), .seq_len = Tokens(1)});
}

Result<TensorView> ForwardPass::cls_rows() {
  FOVEAL_TRY(const TensorView rows,
             arena_.take(DType::kF32, {image_rows_.size(), m_.spec.hidden_size}, "CLS rows"));
  const std::span<const std::int32_t> first =
      image_rows_.cu_seqlens().first(static_cast<std::size_t>(image_rows_.size()));
  FOVEAL_TRY_STATUS(ops::gather_rows(m_.exec, hidden_, first, 1, rows));
  return rows;
}

Status ForwardPass::write_layer_pooled() {
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

Status ForwardPass::write_pooled() {
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

Status ForwardPass::write_cls_head(const ClsHead& head) {
  FOVEAL_TRY(const PackedSeqs splits, one_row_each());
  FOVEAL_TRY(const TensorView rows, cls_rows());
  if (!head.dense) {
    FOVEAL_TRY_STATUS(ops::norm(m_.exec, rows, *m_.weights.final_norm, rows));
    return deliver_pooled(rows, splits);
  }
  FOVEAL_TRY(const TensorView in, layers::normed(pass_, *m_.weights.final_norm, rows));
  FOVEAL_TRY(const TensorView out,
             arena_.take(DType::kF32, {rows.shape[0], head.output_dim}, "pooled"));
  FOVEAL_TRY_STATUS(ops::linear(
      m_.exec,
      {.in = in, .weights = &*m_.weights.dense, .out = out, .activation = head.activation}));
  return deliver_pooled(out, splits);
}

Status ForwardPass::write_attention_pool(const AttentionPoolHead& head) {
  const AttentionPoolWeights& w = *m_.weights.pool;
  const std::int64_t d = m_.spec.hidden_size;
  const std::int64_t batch = image_rows_.size();
  const std::int64_t head_dim = d / head.num_heads;
  FOVEAL_TRY(const PackedSeqs one_each, one_row_each());
  FOVEAL_TRY(const TensorView in, layers::normed(pass_, *m_.weights.final_norm, hidden_));
  FOVEAL_TRY(const TensorView kv,
             arena_.take(m_.compute, {in.shape[0], 2 * d}, "pooling keys and values"));
  FOVEAL_TRY_STATUS(ops::linear(m_.exec, {.in = in, .weights = &w.kv, .out = kv}));
  FOVEAL_TRY(const TensorView query, arena_.take(m_.compute, {1, d}, "pooling query"));
  FOVEAL_TRY_STATUS(
      ops::convert(m_.exec, ConstTensorView(w.query.data<float>(), DType::kF32, {1, d}), query));

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
  FOVEAL_TRY_STATUS(
      ops::linear(m_.exec, {.in = ConstTensorView(context.data, m_.compute, {batch, d}),
                            .weights = &w.proj,
                            .out = out}));
  FOVEAL_TRY(const TensorView mlp_in, layers::normed(pass_, w.norm, out));
  FOVEAL_TRY_STATUS(layers::mlp(pass_, w.mlp, {.in = mlp_in, .out = out, .residual = out}));
  return deliver_pooled(out, one_each);
}

Status ForwardPass::write_merged(std::string_view name, const MergerSpec& spec,
                                 const MergerWeights& weights) {
  const Arena::Mark mark = arena_.mark();
  const std::int64_t unit = merge() * merge();
  const std::int64_t cells = hidden_.shape[0] / unit;
  const std::int64_t merged = m_.spec.hidden_size * unit;
  const ConstTensorView wide(hidden_.data, DType::kF32, {cells, merged});
  const bool before = spec.norm_at == MergerSpec::NormAt::kBeforeMerge;
  FOVEAL_TRY(const TensorView in,
             layers::normed(pass_, weights.norm, before ? ConstTensorView(hidden_) : wide));
  FOVEAL_TRY(TensorView out, arena_.take(DType::kF32, {cells, spec.output_dim}, "visual tokens"));
  FOVEAL_TRY_STATUS(
      layers::mlp(pass_, weights.mlp,
                  {.in = ConstTensorView(in.data, m_.compute, {cells, merged}), .out = out}));
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
  FOVEAL_TRY(const PackedSeqs splits,
             PackedSeqs::from_lengths(std::span<const std::int64_t>(rows)));
  if (name == "pooled") {
    normalize_rows(out);
  }
  deliver(name, out, splits);
  arena_.release(mark);
  return {};
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
