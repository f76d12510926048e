// Matching by sets of reachable positions, see the header.
#include "catalogue/message_match.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace foveal::catalogue {
namespace {

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || c == '_';
}

// reachable[p]: what was consumed so far may end before text[p].
using Positions = std::vector<char>;

Positions after_literal(const Positions& from, std::string_view text, std::string_view literal) {
  Positions to(from.size(), 0);
  for (std::size_t at = text.find(literal); at != text.npos; at = text.find(literal, at + 1)) {
    if (from[at] != 0) {
      to[at + literal.size()] = 1;
    }
  }
  return to;
}

// Any text, the empty one included.
Positions after_text(const Positions& from) {
  Positions to(from.size(), 0);
  const auto first = std::find(from.begin(), from.end(), 1) - from.begin();
  std::fill(to.begin() + first, to.end(), 1);
  return to;
}

// Digits with a sign; with `real`, all that a floating-point number is written with.
Positions after_number(const Positions& from, std::string_view text, bool real) {
  const auto part_of = [&](char c) {
    return is_digit(c) || (real && (c == '.' || c == '-' || c == '+' || (c >= 'a' && c <= 'z')));
  };
  Positions to(from.size(), 0);
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (from[at] == 0 || (at > 0 && is_word(text[at - 1]))) {
      continue;
    }
    std::size_t end = at + (text[at] == '-' ? 1 : 0);
    const std::size_t begin = end;
    while (end < text.size() && part_of(text[end])) {
      ++end;
    }
    if (end > begin) {
      to[end] = 1;
    }
  }
  return to;
}

}  // namespace

std::string normalized(std::string_view text) {
  std::string out = " ";
  for (const char c : text) {
    if (!is_space(c)) {
      out += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    } else if (out.back() != ' ') {
      out += ' ';
    }
  }
  if (out.back() != ' ') {
    out += ' ';
  }
  return out;
}

int match_message(std::string_view message_template, std::span<const Field> fields,
                  std::string_view text) {
  Positions reachable(text.size() + 1, 1);  // the message may stand anywhere in the text
  int score = 0;
  while (!message_template.empty()) {
    const std::size_t open = std::min(message_template.find('{'), message_template.size());
    const std::size_t close = message_template.find('}', open);
    if (open > 0) {
      // Normalizing adds a space at both ends, which a literal inside a sentence has only if it is
      // written.
      std::string literal = normalized(message_template.substr(0, open));
      if (!is_space(message_template[0])) {
        literal.erase(0, 1);
      }
      if (!is_space(message_template[open - 1])) {
        literal.pop_back();
      }
      score += static_cast<int>(std::count_if(literal.begin(), literal.end(), is_word));
      reachable = after_literal(reachable, text, literal);
    }
    if (close == message_template.npos) {
      break;
    }
    const std::string_view name = message_template.substr(open + 1, close - open - 1);
    const auto field =
        std::find_if(fields.begin(), fields.end(), [&](const Field& f) { return f.name == name; });
    reachable = field == fields.end() || field->type == "text"
                    ? after_text(reachable)
                    : after_number(reachable, text, field->type == "real");
    message_template.remove_prefix(close + 1);
  }
  return std::find(reachable.begin(), reachable.end(), 1) == reachable.end() ? 0 : score;
}

}  // namespace foveal::catalogue
