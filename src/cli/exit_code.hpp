// Exit codes of the program, and the one map from errors to them.
#pragma once

#include <foveal/error.hpp>

namespace foveal::cli {

inline constexpr int kExitDone = 0;
inline constexpr int kExitSomeFailed = 1;  // some inputs failed, or an output could not be written
inline constexpr int kExitUsage = 2;
inline constexpr int kExitModel = 3;      // the model could not be loaded
inline constexpr int kExitDevice = 4;     // device or backend
inline constexpr int kExitBug = 70;       // ours; EX_SOFTWARE of sysexits.h
inline constexpr int kExitStopped = 130;  // 128 + SIGINT, as shells count

int exit_code(const Error& error);

}  // namespace foveal::cli
