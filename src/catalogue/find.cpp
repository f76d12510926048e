// Search: exact ids, names and keys first; then whatever a pasted text holds, ranked.
#include "catalogue/catalogue.hpp"
#include "catalogue/message_match.hpp"

#include <algorithm>
#include <cstddef>

namespace foveal::catalogue {
namespace {

// Longer pastes are cut: a message stands near the start or the end, and the work stays bounded.
constexpr std::size_t kPasteHead = 24 * 1024;
constexpr std::size_t kPasteTail = 8 * 1024;

// Scores: an id beats a name beats a message, whatever its length (a message has at most some
// hundred letters).
constexpr int kIdScore = 3'000'000;
constexpr int kNameScore = 2'000'000;
constexpr int kMessageScore = 1'000'000;
// Another project's message ranks below ours of the same length.
constexpr int kAliasScore = 500'000;
// Fewer letters than this say too little to be recognised ("no reason": 8).
constexpr int kFewestLetters = 9;

bool is_word(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

// Without white space and quotes around it.
std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kAround = " \t\r\n\"'`";
  const std::size_t begin = text.find_first_not_of(kAround);
  if (begin == text.npos) {
    return {};
  }
  return text.substr(begin, text.find_last_not_of(kAround) - begin + 1);
}

bool has_key(const Entry& entry, std::string_view key) {
  return equal_ignoring_case(entry.key, key) ||
         std::any_of(entry.aliases.begin(), entry.aliases.end(), [&](const Alias& alias) {
           return std::any_of(alias.keys.begin(), alias.keys.end(),
                              [&](std::string_view k) { return equal_ignoring_case(k, key); });
         });
}

bool is_called(const Entry& entry, std::string_view query) {
  return equal_ignoring_case(entry.id, query) || equal_ignoring_case(entry.id.substr(3), query) ||
         equal_ignoring_case(entry.name, query) || has_key(entry, query);
}

// Where `word` stands as a whole word; npos where it does not.
std::size_t find_word(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    if ((at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]))) {
      return at;
    }
  }
  return text.npos;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

// Names of one word ("Cancelled", "Internal") are plain English and do not count inside a text.
bool is_compound(std::string_view name) {
  return std::count_if(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; }) > 1;
}

struct Paste {
  std::string_view text;
  std::string lowered;     // for ids and keys
  std::string normalized;  // for messages
};

// The earlier of two ids counts more: a cause stands after what it caused.
int earlier_first(int score, std::size_t at) {
  return score - static_cast<int>(at);
}

int score_of(const Entry& entry, const Paste& paste) {
  std::size_t at = find_word(paste.lowered, lower_case(entry.id));
  at = std::min(at, find_word(paste.lowered, entry.key));
  for (const Alias& alias : entry.aliases) {
    for (const std::string_view key : alias.keys) {
      at = std::min(at, find_word(paste.lowered, key));
    }
  }
  if (at != paste.lowered.npos) {
    return earlier_first(kIdScore, at);
  }
  at = is_compound(entry.name) ? find_word(paste.text, entry.name) : paste.text.npos;
  if (at != paste.text.npos) {
    return earlier_first(kNameScore, at);
  }
  const int own = match_message(entry.message, entry.fields, paste.normalized);
  int score = own < kFewestLetters ? 0 : kMessageScore + own;
  for (const Alias& alias : entry.aliases) {
    const int other = match_message(alias.message, {}, paste.normalized);
    score = std::max(score, other < kFewestLetters ? 0 : kAliasScore + other);
  }
  return score;
}

}  // namespace

std::vector<const Entry*> find(std::string_view query) {
  query = trimmed(query);
  for (const Entry& entry : entries()) {
    if (is_called(entry, query)) {
      return {&entry};
    }
  }
  std::string cut(query.substr(0, kPasteHead));
  if (query.size() > kPasteHead) {
    const std::size_t tail = std::min(kPasteTail, query.size() - kPasteHead);
    cut += '\n';
    cut += query.substr(query.size() - tail);
  }
  const Paste paste{cut, lower_case(cut), normalized(cut)};
  struct Scored {
    int score;
    const Entry* entry;
  };
  std::vector<Scored> scored;
  for (const Entry& entry : entries()) {
    if (const int score = score_of(entry, paste); score > 0) {
      scored.push_back({score, &entry});
    }
  }
  std::stable_sort(scored.begin(), scored.end(),
                   [](const Scored& a, const Scored& b) { return a.score > b.score; });
  std::vector<const Entry*> out;
  out.reserve(scored.size());
  for (const Scored& s : scored) {
    out.push_back(s.entry);
  }
  return out;
}

}  // namespace foveal::catalogue
