#include "base/printable.hpp"

namespace foveal {

std::string printable(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  constexpr unsigned char kDelete = 0x7F;
  constexpr unsigned char kLead = 0xC2;  // U+0080..U+009F, the other control characters, in UTF-8
  constexpr unsigned char kEndOfC1 = 0xA0;
  std::string out;
  out.reserve(text.size());
  const auto escape = [&](unsigned char c) {
    out += "\\x";
    out += kDigits[c >> 4];
    out += kDigits[c & 15];
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const auto next = static_cast<unsigned char>(i + 1 < text.size() ? text[i + 1] : 0);
    if (c == '\n') {
      out += "\\n";
    } else if (c < ' ' || c == kDelete) {
      escape(c);
    } else if (c == kLead && next >= 0x80 && next < kEndOfC1) {
      escape(next);
      ++i;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace foveal
