// The error catalogue: every entry of errors/FV-nnnn.md as constexpr data, a search over ids,
// names, keys and pasted messages, and the two forms in which an entry is shown. All functions are
// pure.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foveal::catalogue {

// A named value in the message, the fix or the data of an error.
struct Field {
  std::string_view name;
  std::string_view type;  // int, real, text
  std::string_view unit;  // may be empty
  std::string_view meaning;
};

struct Code {
  std::string_view language;  // cpp, python, shell, json, text
  std::string_view text;
};

// The message of another project that means the same.
struct Alias {
  std::string_view project;
  std::string_view kind;                   // exception class there
  std::string_view message;                // template; parts that vary are {named}
  std::span<const std::string_view> keys;  // foreign keys that resolve here
  std::string_view repo;
  std::string_view path;
  std::int64_t line = 0;
  std::string_view commit;
  std::string_view url;
  std::string_view version;  // in which it was seen
  std::string_view date;     // when it was looked at
};

// Where our sources raise the error; the function is empty outside of one.
struct Place {
  std::string_view file;
  std::string_view function;
};

struct Solution {
  std::string_view text;
  std::span<const Code> code;
};

// Both parts empty where an entry has no example.
struct Example {
  std::string_view language;
  std::string_view before;
  std::string_view after;
};

struct Check {
  std::string_view strategy;
  std::span<const Code> code;
};

struct Entry {
  std::string_view id;    // "FV-1101"
  std::string_view name;  // "MaxSeqlenMissing"
  std::string_view key;   // first 16 hex digits of SHA-256 of the name
  std::string_view kind;  // input, unsupported, model, image, limit, device, internal
  int status = 0;         // HTTP
  std::string_view since;
  std::string_view message;  // template
  std::string_view fix;      // template
  std::span<const Field> fields;
  std::span<const Alias> aliases;
  std::string_view meaning;
  std::span<const Place> source;
  std::span<const Solution> solutions;  // best first
  Example example;
  Check validate;
  std::span<const Code> type_guard;
  std::span<const std::string_view> prevention;
  std::string_view trigger;
  std::span<const std::string_view> situations;
  std::string_view failure_class;
  std::string_view failure_page;
  std::span<const std::string_view> related;  // ids
};

// All entries, ascending by id.
std::span<const Entry> entries();

// What `query` may mean, best first; empty where nothing is known. Takes an id ("FV-1101",
// "fv-1101", "1101"), a name, a key (ours or a foreign one), or any text that holds these or a
// message with its fields filled in.
std::vector<const Entry*> find(std::string_view query);

// For a terminal of `width` columns: message, meaning, solutions and the rest, words wrapped, code
// as it is.
std::string render_text(const Entry& entry, int width);

// A JSON array in the order given, indented, ending in a newline; "[]" and a newline for none.
std::string to_json(std::span<const Entry* const> entries);

}  // namespace foveal::catalogue
