// What a Context owns, for the library itself.
#pragma once

#include "api/workspace_pool.hpp"
#include "attention/backend.hpp"
#include "base/thread_pool.hpp"

#include <foveal/context.hpp>

#include <span>
#include <string>

namespace foveal {

struct Context::State {
  explicit State(int threads) : pool(threads) {}

  Machine machine;
  std::string backend;                // forced name, or empty
  std::span<const Backend> backends;  // the table, best first
  mutable ThreadPool pool;
  mutable WorkspacePool workspaces;
};

}  // namespace foveal
