// A sub-command: its flags, and what runs it once they are read. The list of all of them.
#pragma once

#include "cli/console.hpp"

#include <functional>

#include <CLI/CLI.hpp>

namespace foveal::cli {

struct Command {
  CLI::App* app = nullptr;
  std::function<int(Console&)> run;  // gives the exit code
};

Command add_embed(CLI::App& root);
Command add_search(CLI::App& root);
Command add_inspect(CLI::App& root);
Command add_attend(CLI::App& root);
Command add_backends(CLI::App& root);
Command add_explain(CLI::App& root);
Command add_doctor(CLI::App& root);

}  // namespace foveal::cli
