// Position tables resampled to the grids that were seen lately; bounded, shared by threads.
#pragma once

#include "model/spec.hpp"
#include "tensor/tensor.hpp"

#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace foveal {

class PositionCache {
 public:
  // table: (cells, hidden) f32, raster order of spec.positions->grid. The result has the order of
  // the tower's tokens: (grid.h * grid.w, hidden) f32.
  Result<std::shared_ptr<const Tensor>> get(const TowerSpec& spec, const Tensor& table,
                                            ops::GridSize grid);

 private:
  // Most batches hold few distinct grids; a table is some MB.
  static constexpr std::size_t kEntries = 32;
  std::mutex mutex_;
  std::list<std::pair<ops::GridSize, std::shared_ptr<const Tensor>>> entries_;  // latest first
};

}  // namespace foveal
