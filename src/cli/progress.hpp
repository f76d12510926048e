// The progress line of a long run: a bar, counts, speed, time left. Drawn only on a terminal, at
// most ten times a second.
#pragma once

#include "cli/console.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace foveal::cli {

enum class ProgressMode : std::uint8_t { kAuto, kNever };

class Progress {
 public:
  using Clock = std::chrono::steady_clock;
  struct Counts {
    std::int64_t total = 0;
    std::int64_t before = 0;  // done by an earlier run: part of the bar, not of the speed
  };
  Progress(Console& console, ProgressMode mode, Counts counts);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void add_done();
  void add_failed();
  double seconds() const;

 private:
  void draw();
  std::string text() const;
  Console* console_;
  bool shown_;
  Counts counts_;
  std::int64_t done_ = 0;  // of this run, failed ones among them
  std::int64_t failed_ = 0;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point drawn_{};
};

// "0:07", "12:30", "1:02:03".
std::string clock_text(double seconds);
// The same, but "0.4 s" below a minute.
std::string duration_text(double seconds);

}  // namespace foveal::cli
