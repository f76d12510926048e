// SIGINT and SIGTERM become a stop request: the batch in hand is finished and written. A second one
// ends the process at once. Make it before any other thread: they inherit the blocked signals, so
// that only the thread here sees them, and no handler has to run in the middle of something.
#pragma once

#include <atomic>
#include <stop_token>
#include <thread>

namespace foveal::cli {

class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  std::stop_token token() const { return stop_.get_token(); }

 private:
  void wait();
  std::stop_source stop_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace foveal::cli
