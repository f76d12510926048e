// The tensors of a model folder: one safetensors file, or shards with their index. A TensorLoader
// hands them out by name under one prefix, checks shape and dtype, and knows at the end what was
// not used.
#pragma once

#include "tensor/safetensors.hpp"
#include "tensor/tensor.hpp"

#include <foveal/error.hpp>
#include <foveal/tensor_view.hpp>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foveal {

class WeightFiles {
 public:
  // ModelFileMissing, SafetensorsInvalid, SafetensorsTruncated, JsonInvalid, ShardMissing,
  // ShardTensorMissing, WeightDuplicate.
  static Result<WeightFiles> open(const std::string& folder);

  struct Found {
    const SafetensorsFile* file = nullptr;
    const SafetensorsEntry* entry = nullptr;
    explicit operator bool() const { return entry != nullptr; }
  };
  Found find(std::string_view name) const;
  std::vector<std::string> names() const;  // sorted
  std::string folder() const { return folder_; }

 private:
  std::string folder_;
  std::vector<std::unique_ptr<SafetensorsFile>> files_;
  std::map<std::string, Found, std::less<>> tensors_;
};

class TensorLoader {
 public:
  // Quantised: config.json says that some of the tensors are.
  enum class Storage : std::uint8_t { kPlain, kQuantised };

  // prefix: what stands before the family's names, "vision_model." or empty. A name that begins
  // with '/' is outside of it: "/visual_projection.weight".
  TensorLoader(const WeightFiles& files, std::string prefix, std::string_view family,
               Storage storage)
      : files_(files), prefix_(std::move(prefix)), family_(family), storage_(storage) {}

  // WeightMissing, WeightShape, WeightDtype; in a quantised folder WeightsQuantised for another
  // dtype or for the packed form of the tensor in its place.
  Result<ConstTensorView> get(std::string_view name, const Shape& expected);
  // As f32. (numel) of the shape.
  Result<Tensor> get_f32(std::string_view name, const Shape& expected);
  // What the family knows and does not need (mask tokens, stored position ids).
  void ignore(std::string_view name) { used_.insert(full(name)); }

  // Every tensor under the prefix must have been used: WeightUnused. An empty prefix means all of
  // the file, but for names that begin with one of `others` (a head that the family does not run).
  Status finish(std::span<const std::string_view> others) const;

  std::int64_t parameters() const { return parameters_; }
  const std::set<DType>& dtypes() const { return dtypes_; }
  // Names as in the file, sorted: for the fingerprint.
  const std::set<std::string>& used() const { return read_; }

 private:
  std::string full(std::string_view name) const;

  const WeightFiles& files_;
  std::string prefix_;
  std::string family_;
  Storage storage_;
  std::set<std::string> used_;
  std::set<std::string> read_;
  std::set<DType> dtypes_;
  std::int64_t parameters_ = 0;
};

}  // namespace foveal
