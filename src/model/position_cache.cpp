#include "model/position_cache.hpp"

#include "model/token_order.hpp"

#include <cstring>

namespace foveal {

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
    FOVEAL_TRY(resampled,
               ops::interpolate_grid(table.view(), positions.grid, grid, positions.filter));
    from = resampled.data<float>();
  }
  for_each_cell(grid, merge, [&](std::int64_t index, std::int64_t y, std::int64_t x) {
    std::memcpy(out.data<float>() + index * d, from + (y * grid.w + x) * d,
                static_cast<std::size_t>(d) * sizeof(float));
  });
  auto shared = std::make_shared<const Tensor>(std::move(out));
  entries_.emplace_front(grid, shared);
  if (entries_.size() > kEntries) {
    entries_.pop_back();
  }
  return shared;
}

}  // namespace foveal
