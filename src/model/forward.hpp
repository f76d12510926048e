// The packed forward pass of a tower over one batch of prepared pictures.
#pragma once

#include "model/model.hpp"
#include "model/tower.hpp"

#include <list>
#include <mutex>
#include <utility>

namespace foveal {

// Position tables resampled to the grids that were seen lately; bounded, shared by threads.
class PositionCache {
 public:
  // Rows in the order of the tower's tokens (merge blocks where it merges). (grid.h * grid.w, hidden) f32.
  Result<std::shared_ptr<const Tensor>> get(const TowerSpec& spec, const Tensor& table, ops::GridSize grid);

 private:
  static constexpr std::size_t kEntries = 32;  // most batches hold few distinct grids; a table is some MB
  std::mutex mutex_;
  std::list<std::pair<ops::GridSize, std::shared_ptr<const Tensor>>> entries_;  // latest first
};

struct ForwardModel {
  const TowerSpec& spec;
  const TowerWeights& weights;
  const NormalizationTable& normalization;
  const Exec& exec;
  DType compute;
  const Machine& machine;
  std::span<const Backend> backends;
  std::string_view attention_backend;  // forced, or empty
  PositionCache& positions;
};

Status run_forward(const ForwardModel& model, std::span<const PreparedImage> images,
                   const ForwardRequest& request, Arena& arena, std::span<ImageResult> results);

// Every name that a request may ask for.
std::vector<std::string> output_names(const TowerSpec& spec);

}  // namespace foveal
