// Values of flags that are one of a few words, and how the public headers' options come from them.
// Unknown words are OptionUnknown with the words that would do.
#pragma once

#include "cli/console.hpp"

#include <foveal/encoder.hpp>
#include <foveal/error.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace foveal::cli {

template <class T, std::size_t N>
Result<T> choose(std::string_view option, std::string_view value,
                 const std::array<std::pair<std::string_view, T>, N>& words) {
  std::string known;
  for (const auto& [word, meaning] : words) {
    if (word == value) {
      return meaning;
    }
    known += (known.empty() ? "" : ", ") + std::string(word);
  }
  return Error(ErrorCode::kOptionUnknown,
               {{"option", option}, {"value", value}, {"expected", known}});
}

Result<ComputeDType> parse_dtype(std::string_view text);
Result<ImageBackend> parse_resize(std::string_view text);
// RRGGBB, with or without "#"; empty: none.
Result<std::optional<std::array<std::uint8_t, 3>>> parse_background(std::string_view text);
Result<LogLevel> parse_log_level(std::string_view text);
Result<LogFormat> parse_log_format(std::string_view text);

}  // namespace foveal::cli
