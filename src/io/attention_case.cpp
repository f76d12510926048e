#include "io/attention_case.hpp"

#include "io/error_json.hpp"
#include "io/file.hpp"
#include "tensor/safetensors.hpp"

#include <charconv>
#include <cstring>
#include <utility>

namespace foveal::io {
namespace {

Error missing(const std::filesystem::path& path, std::string_view tensor) {
  return Error(ErrorCode::kTensorMissing,
               {{"tensor", tensor},
                {"where", path.string()},
                {"expected", "an attention case has q, k, v, cu_seqlens_q and cu_seqlens_k"}});
}

// A float tensor as `to` (absent: as it is); rank 0: any.
Result<Tensor> read_floats(const SafetensorsFile& file, std::string_view name, int rank,
                           std::optional<DType> to) {
  const SafetensorsEntry* entry = file.find(name);
  if (entry == nullptr) {
    return missing(file.path(), name);
  }
  const bool served =
      entry->dtype == DType::kF32 || entry->dtype == DType::kF16 || entry->dtype == DType::kBF16;
  if (!served) {
    return Error(ErrorCode::kDtypeUnsupported,
                 {{"what", name}, {"dtype", entry->dtype_text}, {"expected", "f32, f16, bf16"}});
  }
  if (entry->shape.rank() != rank) {
    return Error(ErrorCode::kShapeMismatch,
                 {{"tensor", name},
                  {"got", entry->shape.text()},
                  {"expected", rank == 1 ? "(num_heads)"
                                         : "three dimensions, such as (T, num_heads, head_dim)"}});
  }
  const DType dtype = to.value_or(*entry->dtype);
  const ConstTensorView view = file.view(*entry);
  FOVEAL_TRY(Tensor out, Tensor::allocate(dtype, entry->shape, name));
  if (dtype == entry->dtype) {
    if (out.numel() > 0) {
      std::memcpy(out.data<std::byte>(), view.data,
                  static_cast<std::size_t>(out.numel() * dtype_size(dtype).v));
    }
    return out;
  }
  FOVEAL_TRY(Tensor wide, Tensor::allocate(DType::kF32, entry->shape, name));
  convert_to_f32(view.data, *entry->dtype, wide.data<float>(), wide.numel());
  convert_from_f32(wide.data<float>(), out.data<void>(), dtype, out.numel());
  return out;
}

Result<std::vector<std::int64_t>> read_cu_seqlens(const SafetensorsFile& file,
                                                  std::string_view name) {
  const SafetensorsEntry* entry = file.find(name);
  if (entry == nullptr) {
    entry = file.find("cu_seqlens");
  }
  if (entry == nullptr) {
    return missing(file.path(), name);
  }
  if (entry->dtype != DType::kI32 && entry->dtype != DType::kI64) {
    return Error(ErrorCode::kCuSeqlensDtype, {{"dtype", entry->dtype_text}});
  }
  if (entry->shape.rank() != 1) {
    return Error(ErrorCode::kShapeMismatch,
                 {{"tensor", name}, {"got", entry->shape.text()}, {"expected", "(B+1)"}});
  }
  const ConstTensorView view = file.view(*entry);
  std::vector<std::int64_t> out(static_cast<std::size_t>(entry->shape[0]));
  for (std::size_t i = 0; i < out.size(); ++i) {  // memcpy: the data may be unaligned
    if (entry->dtype == DType::kI64) {
      std::memcpy(&out[i], view.as<std::byte>() + i * sizeof(std::int64_t), sizeof(std::int64_t));
    } else {
      std::int32_t value = 0;
      std::memcpy(&value, view.as<std::byte>() + i * sizeof value, sizeof value);
      out[i] = value;
    }
  }
  return out;
}

template <class T>
Result<std::optional<T>> read_number(const SafetensorsFile& file, const std::string& key) {
  const auto it = file.metadata().find(key);
  if (it == file.metadata().end()) {
    return std::optional<T>();
  }
  T value{};
  const std::string& text = it->second;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) {
    return Error(ErrorCode::kOptionInvalid,
                 {{"option", key}, {"value", text}, {"expected", "write a number"}});
  }
  return std::optional(value);
}

Result<bool> read_flag(const SafetensorsFile& file, const std::string& key) {
  const auto it = file.metadata().find(key);
  if (it == file.metadata().end() || it->second == "false" || it->second == "False" ||
      it->second == "0") {
    return false;
  }
  if (it->second == "true" || it->second == "True" || it->second == "1") {
    return true;
  }
  return Error(ErrorCode::kOptionInvalid,
               {{"option", key}, {"value", it->second}, {"expected", "write true or false"}});
}

}  // namespace

Result<AttentionCase> read_attention_case(const std::filesystem::path& path,
                                          std::optional<DType> dtype) {
  FOVEAL_TRY(const SafetensorsFile file, SafetensorsFile::open(path.string()));
  AttentionCase out;
  FOVEAL_TRY(out.q, read_floats(file, "q", 3, dtype));
  FOVEAL_TRY(out.k, read_floats(file, "k", 3, dtype));
  FOVEAL_TRY(out.v, read_floats(file, "v", 3, dtype));
  FOVEAL_TRY(out.cu_seqlens_q, read_cu_seqlens(file, "cu_seqlens_q"));
  FOVEAL_TRY(out.cu_seqlens_k, read_cu_seqlens(file, "cu_seqlens_k"));
  if (file.find("sinks") != nullptr) {
    FOVEAL_TRY(out.sinks, read_floats(file, "sinks", 1, DType::kF32));
  }
  if (file.find("bias") != nullptr) {
    FOVEAL_TRY(out.bias, read_floats(file, "bias", 3, DType::kF32));
  }
  FOVEAL_TRY(out.scale, read_number<float>(file, "scale"));
  FOVEAL_TRY(out.causal, read_flag(file, "causal"));
  FOVEAL_TRY(out.window_left, read_number<std::int64_t>(file, "window_left"));
  FOVEAL_TRY(out.window_right, read_number<std::int64_t>(file, "window_right"));
  FOVEAL_TRY(out.softcap, read_number<float>(file, "softcap"));
  for (std::optional<std::int64_t>* window : {&out.window_left, &out.window_right}) {
    if (*window == -1) {
      window->reset();
    }
  }
  if (out.softcap == 0.0F) {
    out.softcap.reset();
  }
  return out;
}

Result<Tensor> as_f32(const Tensor& tensor) {
  FOVEAL_TRY(Tensor out, Tensor::allocate(DType::kF32, tensor.shape(), "a float32 copy"));
  convert_to_f32(tensor.view().data, tensor.dtype(), out.data<float>(), out.numel());
  return out;
}

Status write_tensors(const std::filesystem::path& path, std::span<const NamedTensor> tensors) {
  Json header;
  header["__metadata__"] = {{"format", "foveal"}};
  std::int64_t at = 0;
  for (const NamedTensor& t : tensors) {
    const std::int64_t bytes = t.view.numel() * static_cast<std::int64_t>(sizeof(float));
    const auto extents = t.view.shape.extents();
    header[std::string(t.name)] = {
        {"dtype", "F32"},
        {"shape", std::vector<std::int64_t>(extents.begin(), extents.end())},
        {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  std::string text = dump(header);
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data behind it stays aligned
  std::string out;
  for (int i = 0; i < 8; ++i) {
    out += static_cast<char>(text.size() >> (8 * i));
  }
  out += text;
  for (const NamedTensor& t : tensors) {
    out.append(t.view.as<char>(), static_cast<std::size_t>(t.view.numel()) * sizeof(float));
  }
  return write_atomically(path, std::as_bytes(std::span(out)));
}

}  // namespace foveal::io
