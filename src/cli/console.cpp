#include "cli/console.hpp"

#include "base/printable.hpp"
#include "cli/exit_code.hpp"

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace foveal::cli {
namespace {

constexpr std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return "error";
    case LogLevel::kWarning:
      return "warning";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kDebug:
      break;
  }
  return "debug";
}

Error stdout_unwritable(int code) {
  return Error(ErrorCode::kOutputUnwritable,
               {{"file", "standard output"}, {"reason", std::generic_category().message(code)}});
}

}  // namespace

void Console::line(const std::string& text) {
  progress_line("");
  std::fputs((text + "\n").c_str(), stderr);
}

int Console::fail(const Error& error) {
  if (format_ == LogFormat::kJson) {
    line(io::dump({{"level", "error"}, {"error", io::to_json(error)}}));
  } else {
    line("foveal: " + error.describe());
  }
  return exit_code(error);
}

void Console::input_failed(std::string_view file, std::int64_t index, const Error& error) {
  if (format_ == LogFormat::kJson) {
    line(io::dump({{"level", "error"},
                   {"index", index},
                   {"file", std::string(file)},
                   {"error", io::to_json(error)}}));
    return;
  }
  std::string text =
      "foveal: error " + error.id() + " " + std::string(error.name()) + ": " + error.message();
  if (const std::string fix = error.fix(); !fix.empty()) {
    text += "; fix: " + fix;
  }
  line(text);
}

void Console::say(LogLevel level, std::string_view text, const Json& data) {
  if (!says(level)) {
    return;
  }
  if (format_ == LogFormat::kText) {
    const bool plain = level == LogLevel::kInfo;
    line("foveal: " + (plain ? std::string() : std::string(name_of(level)) + ": ") +
         printable(text));
    return;
  }
  Json json = {{"level", std::string(name_of(level))}, {"message", std::string(text)}};
  json.update(data);
  line(io::dump(json));
}

void Console::progress_line(const std::string& text) {
  if (!text.empty() || progress_shown_) {
    std::fputs(("\r\x1b[K" + text).c_str(), stderr);  // ESC [ K: clears to the end of the line
    std::fflush(stderr);
  }
  progress_shown_ = !text.empty();
}

Status print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) {
    return stdout_unwritable(errno);
  }
  return {};
}

Status flush_output() {
  if (std::fflush(stdout) != 0) {
    return stdout_unwritable(errno);
  }
  return {};
}

}  // namespace foveal::cli
