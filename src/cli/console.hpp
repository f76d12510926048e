// What the program says on stderr: errors, notes, the progress line; as text or as one JSON object
// a line. Results go to stdout by way of `print`, which notices a full disk or a closed pipe.
#pragma once

#include "io/error_json.hpp"

#include <foveal/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace foveal::cli {

using io::Json;

enum class LogLevel : std::uint8_t { kError, kWarning, kInfo, kDebug };
enum class LogFormat : std::uint8_t { kText, kJson };

class Console {
 public:
  Console(LogLevel level, LogFormat format) : level_(level), format_(format) {}

  // Errors as objects too, for --json.
  void use_json() { format_ = LogFormat::kJson; }
  bool says(LogLevel level) const { return level <= level_; }

  // "foveal: error FV-1102 MaxSeqlenTooSmall: ..." with fix and causes. Returns the exit code that
  // goes with it.
  int fail(const Error& error);
  // The same on one line: one of many inputs.
  void input_failed(std::string_view file, std::int64_t index, const Error& error);
  // `data` joins the object of the JSON form.
  void say(LogLevel level, std::string_view text, const Json& data = Json::object());

  // A line that the next one overwrites; empty: gone. Only for terminals.
  void progress_line(const std::string& text);

 private:
  void line(const std::string& text);
  LogLevel level_;
  LogFormat format_;
  bool progress_shown_ = false;
};

// To stdout. OutputUnwritable.
Status print(std::string_view text);
// Flushes stdout. OutputUnwritable.
Status flush_output();

}  // namespace foveal::cli
