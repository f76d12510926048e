#include "tensor/json_scan.hpp"

#include <charconv>

namespace foveal {
namespace {

void append_utf8(std::string& out, unsigned code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0U | (code >> 6));
    out += static_cast<char>(0x80U | (code & 0x3FU));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0U | (code >> 12));
    out += static_cast<char>(0x80U | ((code >> 6) & 0x3FU));
    out += static_cast<char>(0x80U | (code & 0x3FU));
  } else {
    out += static_cast<char>(0xF0U | (code >> 18));
    out += static_cast<char>(0x80U | ((code >> 12) & 0x3FU));
    out += static_cast<char>(0x80U | ((code >> 6) & 0x3FU));
    out += static_cast<char>(0x80U | (code & 0x3FU));
  }
}

}  // namespace

void JsonScan::skip_space() {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
    ++at_;
  }
}

char JsonScan::peek() {
  skip_space();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool JsonScan::take(char c) {
  if (peek() != c || at_ >= text_.size()) {
    return false;
  }
  ++at_;
  return true;
}

bool JsonScan::at_end() {
  skip_space();
  return at_ == text_.size();
}

std::optional<unsigned> JsonScan::hex4() {
  unsigned code = 0;
  if (text_.size() - at_ < 4) {
    return std::nullopt;
  }
  const char* end = text_.data() + at_ + 4;
  const auto [stop, error] = std::from_chars(text_.data() + at_, end, code, 16);
  if (error != std::errc{} || stop != end) {
    return std::nullopt;
  }
  at_ += 4;
  return code;
}

std::optional<std::string> JsonScan::string() {
  if (!take('"')) {
    return std::nullopt;
  }
  std::string out;
  while (at_ < text_.size()) {
    const char c = text_[at_++];
    if (c == '"') {
      return out;
    }
    if (static_cast<unsigned char>(c) < 0x20) {
      return std::nullopt;
    }
    if (c != '\\') {
      out += c;
      continue;
    }
    if (at_ == text_.size()) {
      return std::nullopt;
    }
    switch (const char e = text_[at_++]; e) {
      case '"':
      case '\\':
      case '/':
        out += e;
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'u': {
        auto code = hex4();
        if (code && *code >= 0xD800 && *code < 0xDC00) {  // a surrogate pair, or it is malformed
          if (text_.substr(at_, 2) != "\\u") {
            return std::nullopt;
          }
          at_ += 2;
          const auto low = hex4();
          if (!low || *low < 0xDC00 || *low > 0xDFFF) {
            return std::nullopt;
          }
          code = 0x10000U + ((*code - 0xD800U) << 10) + (*low - 0xDC00U);
        } else if (!code || (*code >= 0xDC00 && *code < 0xE000)) {
          return std::nullopt;
        }
        append_utf8(out, *code);
        break;
      }
      default:
        return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<std::int64_t> JsonScan::integer() {
  if (const char c = peek(); c < '0' || c > '9') {
    return std::nullopt;
  }
  std::int64_t value = 0;
  const char* begin = text_.data() + at_;
  const auto [stop, error] = std::from_chars(begin, text_.data() + text_.size(), value);
  if (error != std::errc{}) {
    return std::nullopt;
  }
  at_ += static_cast<std::size_t>(stop - begin);
  if (at_ < text_.size() && (text_[at_] == '.' || text_[at_] == 'e' || text_[at_] == 'E')) {
    return std::nullopt;
  }
  return value;
}

bool JsonScan::skip_value(int depth) {
  constexpr int kMaxDepth = 16;
  if (depth > kMaxDepth) {
    return false;
  }
  const char c = peek();
  if (c == '"') {
    return string().has_value();
  }
  if (c == '{' || c == '[') {
    const char close = c == '{' ? '}' : ']';
    ++at_;
    if (take(close)) {
      return true;
    }
    do {
      if (c == '{' && !(string() && take(':'))) {
        return false;
      }
      if (!skip_value(depth + 1)) {
        return false;
      }
    } while (take(','));
    return take(close);
  }
  // A number or a word: its spelling does not matter here, only that it ends.
  const std::size_t begin = at_;
  while (at_ < text_.size() &&
         std::string_view(",]} \n\t\r").find(text_[at_]) == std::string_view::npos) {
    ++at_;
  }
  return at_ > begin;
}

}  // namespace foveal
