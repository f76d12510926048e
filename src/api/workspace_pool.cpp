#include "api/workspace_pool.hpp"

#include <algorithm>

namespace foveal {

Result<WorkspacePool::Loan> WorkspacePool::lend(Bytes size) {
  Buffer outgrown;  // freed after the lock, and before the larger one is asked for
  {
    const std::lock_guard lock(mutex_);
    // The smallest that is large enough; else the largest makes way, so that sizes converge on what
    // is needed.
    const auto by_size = [](const Buffer& a, const Buffer& b) { return a.size() < b.size(); };
    std::ranges::sort(free_, by_size);
    const auto fits =
        std::ranges::find_if(free_, [size](const Buffer& b) { return b.size() >= size; });
    if (fits != free_.end()) {
      Buffer buffer = std::move(*fits);
      free_.erase(fits);
      return Loan(*this, std::move(buffer));
    }
    if (!free_.empty()) {
      outgrown = std::move(free_.back());
      free_.pop_back();
    }
  }
  outgrown = Buffer();
  FOVEAL_TRY(Buffer buffer, Buffer::allocate(size, "the workspace of an attention call"));
  return Loan(*this, std::move(buffer));
}

void WorkspacePool::give_back(Buffer buffer) noexcept {
  try {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(buffer));
  } catch (...) {  // no room to remember it: it is freed instead
  }
}

}  // namespace foveal
