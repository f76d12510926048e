// Scratch for attention calls from any number of threads: buffers that were needed once are kept
// and lent again, so a steady load allocates nothing. The lock is held while a buffer changes
// hands, never during a call.
#pragma once

#include "tensor/tensor.hpp"

#include <foveal/attention/plan.hpp>

#include <mutex>
#include <utility>
#include <vector>

namespace foveal {

class WorkspacePool {
 public:
  // A buffer on loan; goes back when it dies.
  class Loan {
   public:
    Loan(WorkspacePool& pool, Buffer buffer) : pool_(&pool), buffer_(std::move(buffer)) {}
    Loan(Loan&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)), buffer_(std::move(other.buffer_)) {}
    Loan& operator=(Loan&&) = delete;
    ~Loan() {
      if (pool_ != nullptr) {
        pool_->give_back(std::move(buffer_));
      }
    }
    Workspace workspace() { return {.data = buffer_.data(), .size = buffer_.size()}; }

   private:
    WorkspacePool* pool_;
    Buffer buffer_;
  };

  // At least `size` bytes. OutOfMemory. The pool must outlive the loan.
  Result<Loan> lend(Bytes size);

 private:
  void give_back(Buffer buffer) noexcept;

  std::mutex mutex_;
  std::vector<Buffer> free_;  // guarded by mutex_; at most as many as were ever lent at once
};

}  // namespace foveal
