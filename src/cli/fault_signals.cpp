#include "cli/fault_signals.hpp"

#include "cli/exit_code.hpp"

#include <unistd.h>
#include <csignal>

#include <string_view>

namespace foveal::cli {
namespace {

// Runs in the middle of anything: only what is safe there.
void on_bus_error(int /*signal*/, siginfo_t* info, void* /*context*/) {
  if (info->si_code != BUS_ADRERR) {  // not a file's: a bug of ours, which ends as ever
    std::signal(SIGBUS, SIG_DFL);
    return;
  }
  constexpr std::string_view kText =
      "foveal: error FV-3010 SafetensorsTruncated: a file of weights or vectors was cut off, or "
      "its "
      "disk failed, while it was in use\n  fix: leave the file alone while foveal runs, and get it "
      "again if it is damaged\n";
  const ssize_t written = ::write(STDERR_FILENO, kText.data(), kText.size());
  static_cast<void>(written);
  ::_exit(kExitModel);
}

}  // namespace

void handle_fault_signals() {
  std::signal(SIGXFSZ, SIG_IGN);
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

}  // namespace foveal::cli
