// Threads wait on a condition variable between jobs; inside a job they take indices from one atomic
// counter.
#include "base/thread_pool.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <system_error>

namespace foveal {

struct ThreadPool::Job {
  std::int64_t count;
  const std::function<void(std::int64_t, int)>& task;
  std::atomic<std::int64_t> next{0};
};

ThreadPool::ThreadPool(int threads) {
  workers_.reserve(static_cast<std::size_t>(std::max(0, threads - 1)));
  for (int i = 1; i < threads; ++i) {
    try {
      workers_.emplace_back([this, i] { work(i); });
    } catch (const std::system_error&) {
      break;  // the system gives no more: fewer do the same work
    }
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) {
    worker.join();
  }
}

void ThreadPool::take(Job& job, int worker) {
  for (std::int64_t i = job.next.fetch_add(1, std::memory_order_relaxed); i < job.count;
       i = job.next.fetch_add(1, std::memory_order_relaxed)) {
    job.task(i, worker);
  }
}

void ThreadPool::work(int worker) {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [&] { return stop_ || (job_ != nullptr && generation_ != seen); });
    if (stop_) {
      return;
    }
    seen = generation_;
    Job& job = *job_;
    ++busy_;
    lock.unlock();
    take(job, worker);
    lock.lock();
    if (--busy_ == 0) {
      done_.notify_all();
    }
  }
}

void ThreadPool::run(std::int64_t count, const std::function<void(std::int64_t, int)>& task) {
  if (count <= 0) {
    return;
  }
  if (workers_.empty() || count == 1) {
    const std::lock_guard turn(turn_);
    for (std::int64_t i = 0; i < count; ++i) {
      task(i, 0);
    }
    return;
  }
  const std::lock_guard turn(turn_);
  Job job{count, task};
  {
    const std::lock_guard lock(mutex_);
    job_ = &job;
    ++generation_;
  }
  // As many as there is work for beside the caller: a short job wakes few.
  const auto helpers =
      std::min<std::int64_t>(count - 1, static_cast<std::int64_t>(workers_.size()));
  if (helpers == static_cast<std::int64_t>(workers_.size())) {
    wake_.notify_all();
  } else {
    for (std::int64_t i = 0; i < helpers; ++i) {
      wake_.notify_one();
    }
  }
  take(job, 0);
  std::unique_lock lock(mutex_);
  job_ = nullptr;  // a worker that wakes from here on finds nothing and sleeps again
  done_.wait(lock, [&] { return busy_ == 0; });
}

int ThreadPool::usable_cpus() {
  int cpus = 1;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    cpus = std::max(1, CPU_COUNT(&set));
  }
  // cgroup v2: "max 100000" or "200000 100000" (quota, period in microseconds).
  std::ifstream quota_file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  double period = 0;
  if (quota_file >> quota >> period && quota != "max" && period > 0) {
    char* end = nullptr;
    const double value = std::strtod(quota.c_str(), &end);
    if (end != quota.c_str() && value > 0) {
      cpus = std::clamp(static_cast<int>(value / period + 0.5), 1, cpus);
    }
  }
  return cpus;
}

}  // namespace foveal
