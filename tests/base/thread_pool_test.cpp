// The pool runs every task once, on any number of threads, for any caller.
#include "base/thread_pool.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <ctime>
#include <thread>
#include <vector>

namespace foveal {
namespace {

TEST(ThreadPool, RunsEveryIndexOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    for (const std::int64_t count : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> seen(static_cast<std::size_t>(count));
      pool.run(count, [&](std::int64_t i, int worker) {
        EXPECT_GE(worker, 0);
        EXPECT_LT(worker, pool.size());
        seen[static_cast<std::size_t>(i)].fetch_add(1);
      });
      for (std::size_t i = 0; i < seen.size(); ++i) {
        ASSERT_EQ(seen[i].load(), 1)
            << "threads " << threads << " count " << count << " index " << i;
      }
    }
  }
}

TEST(ThreadPool, ServesCallersInTurns) {
  ThreadPool pool(3);
  std::atomic<std::int64_t> sum{0};
  {
    std::vector<std::jthread> callers;
    for (int c = 0; c < 4; ++c) {
      callers.emplace_back([&] {
        for (int round = 0; round < 200; ++round) {
          pool.run(10, [&](std::int64_t i, int) { sum.fetch_add(i); });
        }
      });
    }
  }
  EXPECT_EQ(sum.load(), 4 * 200 * 45);
}

TEST(ThreadPool, SleepsWhenIdle) {
  ThreadPool pool(4);
  pool.run(100, [](std::int64_t, int) {});
  timespec before{};
  timespec after{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
  const double used = static_cast<double>(after.tv_sec - before.tv_sec) +
                      static_cast<double>(after.tv_nsec - before.tv_nsec) * 1e-9;
  // Three spinning workers would use up to 0.6 s of CPU time here; sleeping ones use none worth
  // mentioning.
  EXPECT_LT(used, 0.05);
}

TEST(ThreadPool, CountsAtLeastOneCpu) {
  EXPECT_GE(ThreadPool::usable_cpus(), 1);
}

}  // namespace
}  // namespace foveal
