#include "tensor/arena.hpp"

#include "base/narrow.hpp"

#include <algorithm>
#include <limits>

namespace foveal {

Result<TensorView> Arena::take(DType dtype, const Shape& shape, std::string_view what) {
  constexpr std::int64_t kAlign = kBufferAlignment;
  constexpr std::int64_t kMinChunk = std::int64_t{1} << 20;  // small models fit one chunk
  long long bytes = dtype_size(dtype).v;
  for (const std::int64_t e : shape.extents()) {
    const auto product = checked_mul(bytes, e);
    if (!product || e < 0) {
      return Error(ErrorCode::kOutOfMemory,
                   {{"bytes", std::numeric_limits<std::int64_t>::max()}, {"what", what}});
    }
    bytes = *product;
  }
  const std::int64_t need = (bytes + kAlign - 1) / kAlign * kAlign;
  while (current_ < chunks_.size() &&
         chunks_[current_].used + need > chunks_[current_].buffer.size().v) {
    if (current_ + 1 == chunks_.size()) {
      break;
    }
    ++current_;
  }
  if (current_ >= chunks_.size() ||
      chunks_[current_].used + need > chunks_[current_].buffer.size().v) {
    const std::int64_t last = chunks_.empty() ? 0 : chunks_.back().buffer.size().v;
    FOVEAL_TRY(Buffer buffer, Buffer::allocate(Bytes(std::max({need, kMinChunk, last})), what));
    chunks_.push_back({std::move(buffer), 0});
    current_ = chunks_.size() - 1;
  }
  Chunk& chunk = chunks_[current_];
  const TensorView out(chunk.buffer.data() + chunk.used, dtype, shape);
  chunk.used += need;
  std::int64_t in_use = 0;
  for (std::size_t i = 0; i <= current_; ++i) {
    in_use += chunks_[i].used;
  }
  peak_ = std::max(peak_, Bytes(in_use), [](Bytes a, Bytes b) { return a < b; });
  return out;
}

void Arena::release(Mark mark) {
  for (std::size_t i = mark.chunk; i < chunks_.size(); ++i) {
    chunks_[i].used = i == mark.chunk ? mark.used : 0;
  }
  current_ = mark.chunk;
}

void Arena::reset() {
  if (chunks_.size() > 1) {
    std::int64_t total = 0;
    for (const Chunk& chunk : chunks_) {
      total += chunk.buffer.size().v;
    }
    chunks_.clear();
    auto joined = Buffer::allocate(Bytes(total), "arena");
    if (joined) {  // else the next take() asks again and reports
      chunks_.push_back({*std::move(joined), 0});
    }
  }
  for (Chunk& chunk : chunks_) {
    chunk.used = 0;
  }
  current_ = 0;
}

}  // namespace foveal
