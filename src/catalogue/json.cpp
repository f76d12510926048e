// Entries as JSON. tools/gen_errors.py writes docs/errors/errors.json in the same form, byte for
// byte; written out here because the attention library, which explains errors too, carries no JSON
// library.
#include "catalogue/catalogue.hpp"

#include <array>
#include <concepts>
#include <cstddef>
#include <utility>

namespace foveal::catalogue {
namespace {

// Writes one value after another with two spaces of indent a level, as `json.dumps(value,
// indent=2)` does.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  // `fill` writes the members; empty braces where it writes none.
  template <class Fill>
  void object(Fill&& fill) {
    group('{', '}', std::forward<Fill>(fill));
  }
  template <class Range, class Each>
  void array(const Range& range, Each&& each) {
    group('[', ']', [&] {
      for (const auto& value : range) {
        next();
        each(value);
      }
    });
  }
  void key(std::string_view name) {
    next();
    text(name);
    out_ += ": ";
  }
  void text(std::string_view value) {
    out_ += '"';
    for (const char c : value) {
      escaped(c);
    }
    out_ += '"';
  }
  void number(std::int64_t value) { out_ += std::to_string(value); }

  void member(std::string_view name, std::string_view value) {
    key(name);
    text(value);
  }
  void member(std::string_view name, std::integral auto value) {
    key(name);
    number(static_cast<std::int64_t>(value));
  }
  void member(std::string_view name, std::span<const std::string_view> values) {
    key(name);
    array(values, [&](std::string_view value) { text(value); });
  }
  void member(std::string_view name, std::span<const Code> code) {
    key(name);
    object([&] {
      for (const Code& c : code) {
        member(c.language, c.text);
      }
    });
  }

 private:
  template <class Fill>
  void group(char open, char close, Fill&& fill) {
    out_ += open;
    const bool outer_first = first_;
    first_ = true;
    ++depth_;
    fill();
    --depth_;
    if (!first_) {
      new_line();
    }
    first_ = outer_first;
    out_ += close;
  }
  void next() {
    if (!first_) {
      out_ += ',';
    }
    first_ = false;
    new_line();
  }
  void new_line() {
    out_ += '\n';
    out_.append(2 * depth_, ' ');
  }
  void escaped(char c) {
    constexpr std::string_view kHex = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out_ += '\\';
      out_ += c;
    } else if (c == '\n') {
      out_ += "\\n";
    } else if (c == '\t') {
      out_ += "\\t";
    } else if (byte < 0x20) {
      out_ += "\\u00";
      out_ += kHex[byte >> 4];
      out_ += kHex[byte & 15];
    } else {
      out_ += c;
    }
  }

  std::string& out_;
  std::size_t depth_ = 0;
  bool first_ = true;
};

void write_alias(Writer& json, const Alias& alias) {
  json.object([&] {
    json.member("project", alias.project);
    json.member("kind", alias.kind);
    json.member("message", alias.message);
    json.member("keys", alias.keys);
    json.key("source");
    json.object([&] {
      json.member("repo", alias.repo);
      json.member("path", alias.path);
      json.member("line", alias.line);
      json.member("commit", alias.commit);
      json.member("url", alias.url);
    });
    json.key("checked");
    json.object([&] {
      json.member("version", alias.version);
      json.member("date", alias.date);
    });
  });
}

void write_message(Writer& json, const Entry& e) {
  json.key("message");
  json.object([&] {
    json.member("template", e.message);
    json.key("fields");
    json.array(e.fields, [&](const Field& field) {
      json.object([&] {
        json.member("name", field.name);
        json.member("type", field.type);
        json.member("unit", field.unit);
        json.member("meaning", field.meaning);
      });
    });
  });
}

void write_source(Writer& json, const Entry& e) {
  json.key("source");
  json.array(e.source, [&](const Place& place) {
    json.object([&] {
      json.member("file", place.file);
      json.member("line", 0);  // known in build outputs only: it would change with every edit
      json.member("function", place.function);
    });
  });
}

void write_advice(Writer& json, const Entry& e) {
  json.key("solutions");
  json.array(e.solutions, [&](const Solution& solution) {
    json.object([&] {
      json.member("text", solution.text);
      json.member("code", solution.code);
    });
  });
  json.key("example");
  json.object([&] {
    json.member("language", e.example.language);
    json.member("before", e.example.before);
    json.member("after", e.example.after);
  });
  json.key("validate");
  json.object([&] {
    json.member("strategy", e.validate.strategy);
    json.member("code", e.validate.code);
  });
  json.member("type_guard", e.type_guard);
  json.member("prevention", e.prevention);
}

void write_entry(Writer& json, const Entry& e) {
  json.object([&] {
    json.member("key", e.key);
    json.member("id", e.id);
    json.member("name", e.name);
    json.member("since", e.since);
    json.member("status", e.status);
    json.member("kind", e.kind);
    write_message(json, e);
    json.member("fix", e.fix);
    json.key("aliases");
    json.array(e.aliases, [&](const Alias& alias) { write_alias(json, alias); });
    json.key("report");
    json.object([&] {
      json.member("file", "docs/errors/" + std::string(e.id) + ".md");
      json.member("url", "");
    });
    json.member("meaning", e.meaning);
    write_source(json, e);
    write_advice(json, e);
    json.member("trigger", e.trigger);
    json.member("situations", e.situations);
    json.key("failure_class");
    json.object([&] {
      json.member("name", e.failure_class);
      json.member("page", e.failure_page);
    });
    json.member("related", e.related);
  });
}

}  // namespace

std::string to_json(std::span<const Entry* const> entries) {
  std::string out;
  Writer json(out);
  json.array(entries, [&](const Entry* entry) { write_entry(json, *entry); });
  out += '\n';
  return out;
}

}  // namespace foveal::catalogue
