#include "cli/progress.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

namespace foveal::cli {
namespace {

constexpr std::chrono::milliseconds kRedraw{100};
constexpr int kBarCells = 28;

}  // namespace

Progress::Progress(Console& console, ProgressMode mode, Counts counts)
    : console_(&console),
      shown_(mode == ProgressMode::kAuto && ::isatty(STDERR_FILENO) == 1 &&
             console.says(LogLevel::kInfo)),
      counts_(counts) {}

Progress::~Progress() {
  if (shown_) {
    console_->progress_line("");
  }
}

void Progress::add_done() {
  ++done_;
  draw();
}

void Progress::add_failed() {
  ++failed_;
  add_done();
}

double Progress::seconds() const {
  return std::chrono::duration<double>(Clock::now() - begin_).count();
}

void Progress::draw() {
  const auto now = Clock::now();
  if (!shown_ || now - drawn_ < kRedraw) {
    return;
  }
  drawn_ = now;
  console_->progress_line(text());
}

std::string Progress::text() const {
  const std::int64_t at = counts_.before + done_;
  const double share =
      counts_.total > 0 ? static_cast<double>(at) / static_cast<double>(counts_.total) : 1.0;
  const int cells = std::clamp(static_cast<int>(share * kBarCells), 0, kBarCells);
  const double speed = static_cast<double>(done_) / std::max(seconds(), 1e-9);
  std::array<char, 160> line{};
  std::snprintf(
      line.data(), line.size(), "[%s%s] %lld/%lld  %d%%  %.1f images/s  %s left",
      std::string(static_cast<std::size_t>(cells), '#').c_str(),
      std::string(static_cast<std::size_t>(kBarCells - cells), '.').c_str(),
      static_cast<long long>(at), static_cast<long long>(counts_.total),
      static_cast<int>(share * 100), speed,
      clock_text(static_cast<double>(counts_.total - at) / std::max(speed, 1e-9)).c_str());
  return failed_ == 0 ? std::string(line.data())
                      : line.data() + ("  " + std::to_string(failed_) + " failed");
}

std::string clock_text(double seconds) {
  const auto whole = static_cast<long long>(std::clamp(seconds, 0.0, 359999.0) + 0.5);
  std::array<char, 32> text{};
  if (whole >= 3600) {
    std::snprintf(text.data(), text.size(), "%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60,
                  whole % 60);
  } else {
    std::snprintf(text.data(), text.size(), "%lld:%02lld", whole / 60, whole % 60);
  }
  return text.data();
}

std::string duration_text(double seconds) {
  if (seconds >= 59.95) {
    return clock_text(seconds);
  }
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%.1f s", seconds);
  return text.data();
}

}  // namespace foveal::cli
