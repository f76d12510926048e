// foveal explain: the error catalogue, by id, name, key or pasted message.
#include "catalogue/catalogue.hpp"
#include "cli/command.hpp"
#include "cli/exit_code.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>

namespace foveal::cli {
namespace {

constexpr int kWidth = 100;  // of text that goes to a file or a pipe
constexpr int kMinWidth = 40;
constexpr std::size_t kOthers = 5;  // entries named below the best one

struct ExplainArguments {
  std::vector<std::string> words;
  bool json = false;
};

int terminal_width() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
      size.ws_col > 0) {
    return std::clamp<int>(size.ws_col, kMinWidth, kWidth);
  }
  return kWidth;
}

// The words joined again; "-" alone: standard input, for long logs.
std::string query_of(const ExplainArguments& arguments) {
  if (arguments.words.size() == 1 && arguments.words[0] == "-") {
    return {std::istreambuf_iterator<char>(std::cin), {}};
  }
  std::string out;
  for (const std::string& word : arguments.words) {
    out += (out.empty() ? "" : " ") + word;
  }
  return out;
}

Status print_text(const std::vector<const catalogue::Entry*>& found) {
  std::string out = catalogue::render_text(*found.front(), terminal_width());
  for (std::size_t i = 1; i < std::min(found.size(), kOthers + 1); ++i) {
    out += (i == 1 ? "\nIt may also be:\n  " : "  ") + std::string(found[i]->id) + " " +
           std::string(found[i]->name) + "\n";
  }
  return print(out);
}

int run_explain(const ExplainArguments& arguments, Console& console) {
  const std::vector<const catalogue::Entry*> found = catalogue::find(query_of(arguments));
  Status status;
  if (arguments.json) {
    status = print(catalogue::to_json(found));
  } else if (found.empty()) {
    console.say(
        LogLevel::kError,
        "no entry of the catalogue matches: give an id (FV-1101), a name, a key or a message");
  } else {
    status = print_text(found);
  }
  if (status) {
    status = flush_output();
  }
  if (!status) {
    return console.fail(status.error());
  }
  return found.empty() ? kExitSomeFailed : kExitDone;
}

}  // namespace

Command add_explain(CLI::App& root) {
  const auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* app = root.add_subcommand("explain", "What an error means and how to mend it");
  app->add_option("what", arguments->words,
                  "id, name, key, or a pasted message, ours or of SGLang, vLLM, FlashInfer, "
                  "flash-attn; - reads it from "
                  "standard input")
      ->required();
  app->add_flag("--json", arguments->json, "print an array of entries, best first");
  return {.app = app,
          .run = [arguments](Console& console) { return run_explain(*arguments, console); }};
}

}  // namespace foveal::cli
