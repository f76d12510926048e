// The `foveal` program: reads the command line, runs one sub-command, and has the one catch of the
// process.
#include "cli/choices.hpp"
#include "cli/command.hpp"
#include "cli/exit_code.hpp"
#include "cli/fault_signals.hpp"
#include "cli/version.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

namespace foveal::cli {
namespace {

struct RootArguments {
  std::string log_level = "info";
  std::string log_format = "text";
  bool version = false;
  bool json = false;
};

// --batch-tokens also comes from FOVEAL_BATCH_TOKENS; the command line wins.
void add_environment(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const auto& names = option->get_lnames();
    if (names.empty() || names.front() == "help" || names.front() == "version") {
      continue;
    }
    std::string variable = "FOVEAL_" + names.front();
    std::transform(variable.begin(), variable.end(), variable.begin(), [](unsigned char c) {
      return c == '-' ? '_' : static_cast<char>(std::toupper(c));
    });
    option->envname(variable);
  }
}

// The sub-command that was being read, for the hint to its help.
std::string command_name(const std::vector<Command>& commands) {
  for (const Command& command : commands) {
    if (command.app->parsed()) {
      return "foveal " + command.app->get_name();
    }
  }
  return "foveal";
}

Error usage_error(std::string what, const std::vector<Command>& commands) {
  return Error(ErrorCode::kUsageInvalid,
               {{"what", std::move(what)}, {"command", command_name(commands)}});
}

int print_version(bool json) {
  const Status printed = print(json ? io::dump(version_json(), 2) + "\n" : version_text());
  return printed && flush_output() ? kExitDone : kExitSomeFailed;
}

int run(int argc, char** argv) {
  CLI::App root(
      "Vision encoders: pictures in, embeddings out.\nExit codes: 0 done, 1 some inputs failed, 2 "
      "usage, 3 model, "
      "4 device or backend, 70 a bug of ours, 130 stopped.",
      "foveal");
  RootArguments arguments;
  root.fallthrough();
  root.add_option("--log-level", arguments.log_level, "error, warning, info or debug")
      ->capture_default_str();
  root.add_option("--log-format", arguments.log_format, "text or json, on stderr")
      ->capture_default_str();
  root.add_flag("--version", arguments.version, "version, compiler, libraries");
  root.add_flag("--json", arguments.json, "with --version: as JSON");
  const std::vector<Command> commands{add_embed(root),  add_search(root),   add_inspect(root),
                                      add_attend(root), add_backends(root), add_explain(root),
                                      add_doctor(root)};
  add_environment(root);
  for (const Command& command : commands) {
    add_environment(*command.app);
  }
  Console console(LogLevel::kInfo, LogFormat::kText);
  try {
    root.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return root.exit(CLI::CallForHelp());
  } catch (const CLI::ParseError& error) {
    if (arguments.version) {  // `foveal --version` needs no sub-command
      return print_version(arguments.json);
    }
    return console.fail(usage_error(error.what(), commands));
  }
  if (arguments.version) {
    return print_version(arguments.json);
  }
  const auto level = parse_log_level(arguments.log_level);
  const auto format = parse_log_format(arguments.log_format);
  if (!level || !format) {
    return console.fail(level ? format.error() : level.error());
  }
  console = Console(*level, *format);
  for (const Command& command : commands) {
    if (command.app->parsed()) {
      return command.run(console);
    }
  }
  std::fputs(root.help().c_str(), stderr);
  return kExitUsage;
}

}  // namespace
}  // namespace foveal::cli

int main(int argc, char** argv) {
  using foveal::Error;
  using foveal::ErrorCode;
  foveal::cli::Console console(foveal::cli::LogLevel::kError, foveal::cli::LogFormat::kText);
  foveal::cli::handle_fault_signals();
  try {
    return foveal::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    std::fputs("foveal: error FV-5004 OutOfMemory: memory could not be had\n",
               stderr);  // allocates nothing
    return foveal::cli::kExitSomeFailed;
  } catch (const foveal::Exception& error) {
    return console.fail(error.error());
  } catch (const std::exception& error) {
    console.fail(Error(ErrorCode::kInternal,
                       {{"condition", std::string("an exception reached main: ") + error.what()},
                        {"file", __FILE__},
                        {"line", __LINE__}}));
    std::fputs("foveal: this is a bug of ours\n", stderr);
    return foveal::cli::kExitBug;
  }
}
