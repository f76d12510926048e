// A strict scanner of the small JSON that a safetensors header is: objects, arrays of integers,
// strings. foveal_attention builds without a JSON library, and this is all that it needs of one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace foveal {

class JsonScan {
 public:
  explicit JsonScan(std::string_view text) : text_(text) {}

  // Consumes the character after white space; false leaves the position.
  bool take(char c);
  // What comes next, '\0' at the end.
  char peek();
  // A string with its escapes resolved (\u as UTF-8); nullopt where none begins or it is malformed.
  std::optional<std::string> string();
  // A non-negative integer without fraction or exponent.
  std::optional<std::int64_t> integer();
  // Any value, up to a nesting of 16; false where it is malformed.
  bool skip_value(int depth = 0);
  bool at_end();
  std::size_t position() const { return at_; }

 private:
  void skip_space();
  std::optional<unsigned> hex4();
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace foveal
