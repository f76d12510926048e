// FOVEAL_CHECK states what only a bug of ours can break: it aborts in debug and sanitizer builds
// and returns the error Internal (FV-9001) in release. Bad input is never checked with it.
#pragma once

#include <foveal/error.hpp>

#include <cstdio>
#include <cstdlib>

namespace foveal {

inline Error internal_error(const char* condition, const char* file, int line) {
  return Error(ErrorCode::kInternal, {{"condition", condition}, {"file", file}, {"line", line}});
}

}  // namespace foveal

#if defined(FOVEAL_ABORT_ON_CHECK)
#define FOVEAL_CHECK(cond)                                                          \
  do {                                                                              \
    if (!(cond)) {                                                                  \
      std::fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__, #cond); \
      std::abort();                                                                 \
    }                                                                               \
  } while (false)
#else
#define FOVEAL_CHECK(cond)                                        \
  do {                                                            \
    if (!(cond)) {                                                \
      return ::foveal::internal_error(#cond, __FILE__, __LINE__); \
    }                                                             \
  } while (false)
#endif
