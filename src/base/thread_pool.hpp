// A pool of threads that sleep when there is no work. One blocking call at a time per pool: run()
// hands out task numbers to the caller's thread and to the workers until all are done. Which thread
// takes which task is not fixed, so tasks must not let their result depend on it.
#pragma once

#include <foveal/error.hpp>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace foveal {

class ThreadPool {
 public:
  // threads >= 1 counts the calling thread: ThreadPool(1) starts none. Fewer where the system gives
  // no more.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls task(index, worker) once for each index in [0, count); worker in [0, size()). Returns
  // when all are done. Several threads may call it: they take turns. A task must not call run() of
  // the same pool, nor throw.
  void run(std::int64_t count, const std::function<void(std::int64_t index, int worker)>& task);

  // CPUs that this process may use (affinity and cgroup quota), at least 1.
  static int usable_cpus();

 private:
  struct Job;
  void work(int worker);
  static void take(Job& job, int worker);

  std::mutex turn_;  // held by the thread whose run() is under way
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  Job* job_ = nullptr;            // guarded by mutex_
  std::uint64_t generation_ = 0;  // guarded by mutex_
  int busy_ = 0;                  // workers inside the current job, guarded by mutex_
  bool stop_ = false;             // guarded by mutex_
  std::vector<std::thread> workers_;
};

}  // namespace foveal
