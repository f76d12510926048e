// An entry as text for a terminal: what went wrong first, background last.
#include "catalogue/catalogue.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace foveal::catalogue {
namespace {

constexpr int kNarrowest = 40;  // columns; below this wrapping makes the text worse

class Page {
 public:
  explicit Page(int width) : width_(static_cast<std::size_t>(std::max(width, kNarrowest))) {}

  void heading(std::string_view text) {
    empty_line();
    out_ += text;
    out_ += '\n';
  }

  // Words wrapped; `first` before the first line, as many spaces before the others.
  void words(std::string_view first, std::string_view text) {
    std::string line(first);
    std::size_t used = 0;
    while (!text.empty()) {
      const std::size_t space = std::min(text.find_first_of(" \n"), text.size());
      const std::string_view word = text.substr(0, space);
      if (!word.empty()) {
        if (used > 0 && line.size() + 1 + word.size() > width_) {
          out_ += line;
          out_ += '\n';
          line.assign(first.size(), ' ');
          used = 0;
        }
        if (used++ > 0) {
          line += ' ';
        }
        line += word;
      }
      if (text.substr(0, space + 2).ends_with("\n\n")) {  // a paragraph ends
        out_ += line + "\n\n";
        line.assign(first.size(), ' ');
        used = 0;
      }
      text.remove_prefix(std::min(space + 1, text.size()));
    }
    if (used > 0) {
      out_ += line;
      out_ += '\n';
    }
  }

  void code(std::string_view indent, std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      if (end > 0) {
        out_ += indent;
        out_ += text.substr(0, end);
      }
      out_ += '\n';
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  void codes(std::string_view indent, std::span<const Code> code_blocks) {
    for (const Code& block : code_blocks) {
      empty_line();
      code(indent, block.text);
    }
  }

  void empty_line() {
    if (!out_.empty() && !out_.ends_with("\n\n")) {
      out_ += '\n';
    }
  }

  std::string take() { return std::move(out_); }

 private:
  std::size_t width_;
  std::string out_;
};

constexpr std::string_view kIndent = "  ";
constexpr std::string_view kCodeIndent = "      ";

void add_solutions(Page& page, const Entry& entry) {
  if (entry.solutions.empty()) {
    return;
  }
  page.heading("Solutions");
  int number = 0;
  for (const Solution& solution : entry.solutions) {
    page.words("  " + std::to_string(++number) + ". ", solution.text);
    page.codes(kCodeIndent, solution.code);
    if (!solution.code.empty()) {
      page.empty_line();
    }
  }
}

void add_example(Page& page, const Entry& entry) {
  if (entry.example.before.empty()) {
    return;
  }
  page.heading("Example");
  page.words(kIndent, "Before:");
  page.code(kCodeIndent, entry.example.before);
  page.words(kIndent, "After:");
  page.code(kCodeIndent, entry.example.after);
}

void add_list(Page& page, std::string_view title, std::span<const std::string_view> items) {
  if (items.empty()) {
    return;
  }
  page.heading(title);
  for (const std::string_view item : items) {
    page.words("  - ", item);
  }
}

void add_places(Page& page, const Entry& entry) {
  if (entry.source.empty()) {
    return;
  }
  page.heading("Raised in");
  for (const Place& place : entry.source) {
    page.words("  - ", std::string(place.file) +
                           (place.function.empty() ? "" : ", " + std::string(place.function)));
  }
}

void add_related(Page& page, const Entry& entry) {
  if (entry.related.empty()) {
    return;
  }
  page.heading("Related");
  for (const std::string_view id : entry.related) {
    for (const Entry& other : entries()) {
      if (other.id == id) {
        page.words("  - ", std::string(id) + " " + std::string(other.name) + ": " +
                               std::string(other.message));
      }
    }
  }
}

}  // namespace

std::string render_text(const Entry& entry, int width) {
  Page page(width);
  page.words("", std::string(entry.id) + " " + std::string(entry.name));
  page.words(kIndent, entry.message);
  page.words("  fix: ", entry.fix);
  page.words(kIndent, "(" + std::string(entry.failure_class) + "; kind " + std::string(entry.kind) +
                          ", HTTP " + std::to_string(entry.status) + ", since " +
                          std::string(entry.since) + ", key " + std::string(entry.key) + ")");
  if (!entry.meaning.empty()) {
    page.heading("What it means");
    page.words(kIndent, entry.meaning);
  }
  add_solutions(page, entry);
  add_example(page, entry);
  if (!entry.validate.code.empty()) {
    page.heading("Validate before calling");
    page.words(kIndent, entry.validate.strategy);
    page.codes(kCodeIndent, entry.validate.code);
  }
  if (!entry.type_guard.empty()) {
    page.heading("Type guard");
    page.codes(kCodeIndent, entry.type_guard);
  }
  add_list(page, "Prevention", entry.prevention);
  if (!entry.trigger.empty()) {
    page.heading("When it happens");
    page.words(kIndent, entry.trigger);
    for (const std::string_view situation : entry.situations) {
      page.words("  - ", situation);
    }
  }
  for (const Alias& alias : entry.aliases) {
    page.heading("The same in " + std::string(alias.project));
    page.words(kIndent, std::string(alias.kind) + ": " + std::string(alias.message));
  }
  add_places(page, entry);
  add_related(page, entry);
  return page.take();
}

}  // namespace foveal::catalogue
