#include "model/tower.hpp"

#include "layers/pass.hpp"

#include <cstring>
#include <string>

namespace foveal {
namespace {

std::string layer_prefix(const std::string& pattern, std::int64_t layer) {
  std::string out = pattern;
  if (const auto at = out.find("{}"); at != std::string::npos) {
    out.replace(at, 2, std::to_string(layer));
  }
  return out;
}

// Loads the parts of one tower; every function reads tensors by the spec's names below `prefix`.
struct Loading {
  const TowerSpec& spec;
  TensorLoader& loader;
  const Exec& exec;
  DType compute;

  Result<ops::LinearWeights> linear(const std::string& prefix, const LinearSpec& s,
                                    std::int64_t out, std::int64_t in) {
    FOVEAL_TRY(const ConstTensorView weight, loader.get(prefix + s.name + ".weight", {out, in}));
    std::optional<ConstTensorView> bias;
    if (s.bias == Bias::kYes) {
      FOVEAL_TRY(bias, loader.get(prefix + s.name + ".bias", {out}));
    }
    return ops::LinearWeights::pack(exec, weight, bias, compute);
  }

  Result<ops::NormWeights> norm(const std::string& prefix, const NormSpec& s, std::int64_t width) {
    ops::NormWeights out;
    out.kind = s.kind;
    out.eps = static_cast<float>(s.eps);
    FOVEAL_TRY(out.weight, loader.get_f32(prefix + s.name + ".weight", {width}));
    if (s.kind == ops::NormKind::kLayerNorm) {
      FOVEAL_TRY(out.bias, loader.get_f32(prefix + s.name + ".bias", {width}));
    }
    return out;
  }

  // Rows of several (out, in) tensors below one another, as if they had been stored fused.
  Result<ops::LinearWeights> stacked(const std::string& prefix,
                                     std::initializer_list<const LinearSpec*> parts,
                                     std::int64_t out, std::int64_t in) {
    const auto count = static_cast<std::int64_t>(parts.size());
    FOVEAL_TRY(Tensor weight, Tensor::allocate(DType::kF32, {count * out, in}, "stacked weights"));
    FOVEAL_TRY(Tensor bias, Tensor::allocate(DType::kF32, {count * out}, "stacked bias"));
    std::int64_t row = 0;
    for (const LinearSpec* s : parts) {
      FOVEAL_TRY(const ConstTensorView w, loader.get(prefix + s->name + ".weight", {out, in}));
      convert_to_f32(w.data, w.dtype, weight.data<float>() + row * in, out * in);
      float* b = bias.data<float>() + row;
      if (s->bias == Bias::kYes) {
        FOVEAL_TRY(const ConstTensorView values, loader.get(prefix + s->name + ".bias", {out}));
        convert_to_f32(values.data, values.dtype, b, out);
      } else {
        std::memset(b, 0, static_cast<std::size_t>(out) * sizeof(float));
      }
      row += out;
    }
    return ops::LinearWeights::pack(exec, weight.view(), bias.view(), compute);
  }

  Result<layers::MlpWeights> mlp(const std::string& prefix, const MlpSpec& s, std::int64_t in,
                                 std::int64_t out) {
    layers::MlpWeights w;
    w.activation = s.activation;
    if (s.kind == MlpSpec::Kind::kGatedFused) {
      // [gate; up] stacked: two views of one tensor.
      FOVEAL_TRY(const ConstTensorView both,
                 loader.get(prefix + s.fc1.name + ".weight", {2 * s.width, in}));
      FOVEAL_TRY(const ConstTensorView bias,
                 loader.get(prefix + s.fc1.name + ".bias", {2 * s.width}));
      const auto half = [&](const ConstTensorView& v, std::int64_t which, const Shape& shape) {
        return ConstTensorView(v.as<std::byte>() + which * shape.numel() * dtype_size(v.dtype).v,
                               v.dtype, shape);
      };
      FOVEAL_TRY(w.fc1, ops::LinearWeights::pack(exec, half(both, 0, {s.width, in}),
                                                 half(bias, 0, {s.width}), compute));
      FOVEAL_TRY(w.up, ops::LinearWeights::pack(exec, half(both, 1, {s.width, in}),
                                                half(bias, 1, {s.width}), compute));
    } else {
      FOVEAL_TRY(w.fc1, linear(prefix, s.fc1, s.width, in));
      if (s.kind == MlpSpec::Kind::kGated) {
        FOVEAL_TRY(w.up, linear(prefix, s.up, s.width, in));
      }
    }
    FOVEAL_TRY(w.fc2, linear(prefix, s.fc2, out, s.width));
    return w;
  }

  Result<layers::VisionAttentionWeights> attention(const std::string& prefix,
                                                   const AttentionSpec& s) {
    layers::VisionAttentionWeights w;
    const std::int64_t width = s.num_heads * s.head_dim;
    w.num_heads = s.num_heads;
    w.head_dim = s.head_dim;
    if (s.qkv) {
      FOVEAL_TRY(w.qkv, linear(prefix, *s.qkv, 3 * width, spec.hidden_size));
    } else {
      FOVEAL_TRY(w.qkv, stacked(prefix, {&s.q, &s.k, &s.v}, width, spec.hidden_size));
    }
    FOVEAL_TRY(w.proj, linear(prefix, s.proj, spec.hidden_size, width));
    return w;
  }

  Result<layers::BlockWeights> block(std::int64_t layer) {
    const BlockSpec& s = spec.block;
    const std::string prefix = layer_prefix(s.prefix, layer);
    layers::BlockWeights w;
    FOVEAL_TRY(w.norm1, norm(prefix, s.norm1, spec.hidden_size));
    FOVEAL_TRY(w.attention, attention(prefix, s.attention));
    FOVEAL_TRY(w.norm2, norm(prefix, s.norm2, spec.hidden_size));
    FOVEAL_TRY(w.mlp, mlp(prefix, s.mlp, spec.hidden_size, spec.hidden_size));
    w.has_scales = !s.scale1.empty();
    if (w.has_scales) {
      FOVEAL_TRY(w.scale1, loader.get_f32(prefix + s.scale1, {spec.hidden_size}));
      FOVEAL_TRY(w.scale2, loader.get_f32(prefix + s.scale2, {spec.hidden_size}));
    }
    return w;
  }

  Result<ops::LinearWeights> patch() {
    const PatchGeometry& g = spec.patch.geometry;
    const std::int64_t p = g.patch_size;
    const bool temporal = spec.patch.weight_rank == 5;
    const Shape shape = temporal ? Shape{spec.hidden_size, 3, g.temporal_patch_size, p, p}
                                 : Shape{spec.hidden_size, 3, p, p};
    const LinearSpec& s = spec.patch.projection;
    FOVEAL_TRY(ConstTensorView weight, loader.get(s.name + ".weight", shape));
    std::optional<ConstTensorView> bias;
    if (s.bias == Bias::kYes) {
      FOVEAL_TRY(bias, loader.get(s.name + ".bias", {spec.hidden_size}));
    }
    const Shape flat{spec.hidden_size, 3 * g.temporal_patch_size * p * p};
    weight = ConstTensorView(weight.data, weight.dtype, flat);
    return ops::LinearWeights::pack(exec, weight, bias, compute);
  }

  // Prefix tokens and the position table; the CLS row gets its position here, once.
  Status tokens(TowerWeights& out) {
    const std::int64_t d = spec.hidden_size;
    FOVEAL_TRY(out.prefix, Tensor::allocate(DType::kF32, {spec.prefix_rows(), d}, "prefix tokens"));
    std::int64_t row = 0;
    for (const PrefixSpec& s : spec.prefix_tokens) {
      const Shape shape = s.rank == 1 ? Shape{d} : Shape{1, s.count, d};
      FOVEAL_TRY(const ConstTensorView view, loader.get(s.name, shape));
      convert_to_f32(view.data, view.dtype, out.prefix.data<float>() + row * d, s.count * d);
      row += s.count;
    }
    if (!spec.positions) {
      return {};
    }
    const PositionSpec& s = *spec.positions;
    const std::int64_t cells = s.grid.h * s.grid.w;
    const std::int64_t rows = cells + (s.has_cls_row ? 1 : 0);
    const Shape shape = s.table_rank == 3 ? Shape{1, rows, d} : Shape{rows, d};
    FOVEAL_TRY(const Tensor table, loader.get_f32(s.table, shape));
    FOVEAL_TRY(out.positions, Tensor::allocate(DType::kF32, {cells, d}, "positions"));
    const float* first = table.data<float>() + (s.has_cls_row ? d : 0);
    std::memcpy(out.positions.data<float>(), first,
                static_cast<std::size_t>(cells * d) * sizeof(float));
    if (s.has_cls_row && spec.has_cls()) {
      for (std::int64_t i = 0; i < d; ++i) {
        out.prefix.data<float>()[i] += table.data<float>()[i];
      }
    }
    return {};
  }

  Result<MergerWeights> merger(const MergerSpec& s) {
    const std::int64_t m = spec.patch.geometry.merge_size;
    const std::int64_t merged = spec.hidden_size * m * m;
    MergerWeights w;
    FOVEAL_TRY(w.norm,
               norm("", s.norm,
                    s.norm_at == MergerSpec::NormAt::kBeforeMerge ? spec.hidden_size : merged));
    w.mlp.activation = s.activation;
    FOVEAL_TRY(w.mlp.fc1, linear("", s.fc1, merged, merged));
    FOVEAL_TRY(w.mlp.fc2, linear("", s.fc2, s.output_dim, merged));
    return w;
  }

  Result<AttentionPoolWeights> pool(const AttentionPoolHead& s) {
    const std::int64_t d = spec.hidden_size;
    AttentionPoolWeights w;
    FOVEAL_TRY(const Tensor probe, loader.get_f32(s.probe, {1, 1, d}));
    FOVEAL_TRY(const Tensor in_weight, loader.get_f32(s.in_proj + "_weight", {3 * d, d}));
    FOVEAL_TRY(const Tensor in_bias, loader.get_f32(s.in_proj + "_bias", {3 * d}));
    FOVEAL_TRY(w.query, Tensor::allocate(DType::kF32, {d}, "pooling query"));
    for (std::int64_t i = 0; i < d; ++i) {  // once, at load: double and obvious
      double sum = static_cast<double>(in_bias.data<float>()[i]);
      for (std::int64_t j = 0; j < d; ++j) {
        sum += static_cast<double>(in_weight.data<float>()[i * d + j]) *
               static_cast<double>(probe.data<float>()[j]);
      }
      w.query.data<float>()[i] = static_cast<float>(sum);
    }
    FOVEAL_TRY(w.kv,
               ops::LinearWeights::pack(
                   exec, ConstTensorView(in_weight.data<float>() + d * d, DType::kF32, {2 * d, d}),
                   ConstTensorView(in_bias.data<float>() + d, DType::kF32, {2 * d}), compute));
    FOVEAL_TRY(w.proj, linear("", s.out_proj, d, d));
    FOVEAL_TRY(w.norm, norm("", s.norm, d));
    FOVEAL_TRY(w.mlp, mlp("", s.mlp, d, d));
    return w;
  }

  Status head(TowerWeights& out) {
    if (const auto* cls = std::get_if<ClsHead>(&spec.head); cls != nullptr && cls->dense) {
      FOVEAL_TRY(out.dense, linear("", *cls->dense, cls->output_dim, spec.hidden_size));
    } else if (const auto* attention_pool = std::get_if<AttentionPoolHead>(&spec.head)) {
      FOVEAL_TRY(out.pool, pool(*attention_pool));
    } else if (const auto* merge = std::get_if<MergerSpec>(&spec.head)) {
      FOVEAL_TRY(out.merger, merger(*merge));
    }
    return {};
  }
};

}  // namespace

Result<TowerWeights> load_tower(const TowerSpec& spec, TensorLoader& loader, const Exec& exec,
                                DType compute) {
  Loading loading{spec, loader, exec, compute};
  TowerWeights out;
  FOVEAL_TRY(out.patch, loading.patch());
  FOVEAL_TRY_STATUS(loading.tokens(out));
  if (spec.pre_norm) {
    FOVEAL_TRY(out.pre_norm, loading.norm("", *spec.pre_norm, spec.hidden_size));
  }
  for (std::int64_t layer = 0; layer < spec.num_layers; ++layer) {
    FOVEAL_TRY(layers::BlockWeights block, loading.block(layer));
    out.blocks.push_back(std::move(block));
  }
  if (spec.final_norm_use != FinalNorm::kNone) {
    FOVEAL_TRY(out.final_norm, loading.norm("", spec.final_norm, spec.hidden_size));
  }
  FOVEAL_TRY_STATUS(loading.head(out));
  for (const MergerSpec& s : spec.deepstack) {
    FOVEAL_TRY(MergerWeights merger, loading.merger(s));
    out.deepstack.push_back(std::move(merger));
  }
  for (const std::string& name : spec.ignored_tensors) {
    loader.ignore(name);
  }
  FOVEAL_TRY_STATUS(loader.finish(spec.other_parts));
  return out;
}

}  // namespace foveal
