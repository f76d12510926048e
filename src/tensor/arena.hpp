// Scratch memory of one forward pass: a stack of bytes that keeps what it once got. take() hands
// out views, release() drops all since a mark. Grows by chunks, so views stay valid; reset() joins
// the chunks into one, so that a steady load allocates nothing.
#pragma once

#include "tensor/tensor.hpp"

#include <vector>

namespace foveal {

class Arena {
 public:
  struct Mark {
    std::size_t chunk = 0;
    std::int64_t used = 0;
  };

  // Uninitialised, 64-byte aligned, valid until it is released. OutOfMemory.
  Result<TensorView> take(DType dtype, const Shape& shape, std::string_view what);
  Mark mark() const { return {current_, current_ < chunks_.size() ? chunks_[current_].used : 0}; }
  void release(Mark mark);
  // Drops everything; views taken before are invalid.
  void reset();
  Bytes peak() const { return peak_; }

 private:
  struct Chunk {
    Buffer buffer;
    std::int64_t used = 0;
  };
  std::vector<Chunk> chunks_;
  std::size_t current_ = 0;
  Bytes peak_;
};

}  // namespace foveal
