// The packed forward pass of a tower over one batch of prepared pictures.
#pragma once

#include "model/model.hpp"
#include "model/position_cache.hpp"
#include "model/tower.hpp"

namespace foveal {

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
