#include "cli/stop_signals.hpp"

#include "cli/exit_code.hpp"

#include <pthread.h>
#include <unistd.h>
#include <csignal>

#include <system_error>

namespace foveal::cli {
namespace {

sigset_t stop_set() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

}  // namespace

StopSignals::StopSignals() {
  const sigset_t set = stop_set();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  try {
    thread_ = std::thread([this] { wait(); });
  } catch (const std::system_error&) {  // no thread to be had: signals end the process at once
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  }
}

StopSignals::~StopSignals() {
  if (!thread_.joinable()) {
    return;
  }
  over_ = true;
  // NOLINTNEXTLINE(bugprone-bad-signal-to-kill-thread): blocked, it only ends sigwait
  pthread_kill(thread_.native_handle(), SIGTERM);
  thread_.join();
  const sigset_t set = stop_set();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

void StopSignals::wait() {
  const sigset_t set = stop_set();
  for (int signal = 0; sigwait(&set, &signal) == 0 && !over_;) {
    if (!stop_.request_stop()) {
      _exit(kExitStopped);  // asked twice; the spool is whole at every moment
    }
  }
}

}  // namespace foveal::cli
