// Typed, range-checked reading of config.json and preprocessor_config.json. A missing field takes
// the default that transformers has for the family; a wrong one is an error that names file, field
// and value.
#pragma once

#include <foveal/error.hpp>

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace foveal {

// Reads and parses a file. ModelFileMissing is the caller's; here JsonInvalid with the reason.
Result<std::shared_ptr<const nlohmann::json>> read_json(const std::string& path);

struct IntRange {
  std::int64_t min = 1;
  std::int64_t max = std::int64_t{1} << 31;
};

// One object of a JSON file. Cheap to copy; keeps the document alive.
class Config {
 public:
  Config(std::shared_ptr<const nlohmann::json> document, std::string file);

  const std::string& file() const { return file_; }
  bool has(std::string_view field) const;  // there and not null
  // The object under `field`; an empty object where it is absent.
  Result<Config> child(std::string_view field) const;

  Result<std::int64_t> integer(std::string_view field, std::int64_t fallback,
                               IntRange range = {}) const;
  Result<double> real(std::string_view field, double fallback, double min, double max) const;
  Result<std::string> text(std::string_view field, std::string_view fallback) const;
  Result<bool> flag(std::string_view field, bool fallback) const;
  Result<std::vector<std::int64_t>> integers(std::string_view field,
                                             std::vector<std::int64_t> fallback,
                                             IntRange range = {}) const;
  Result<std::vector<double>> reals(std::string_view field, std::vector<double> fallback) const;
  Result<std::vector<std::string>> texts(std::string_view field) const;
  // An integer, or a pair [height, width].
  struct Pair {
    std::int64_t height = 0;
    std::int64_t width = 0;
  };
  Result<Pair> pair(std::string_view field, std::int64_t fallback, IntRange range = {}) const;

  bool is_integer(std::string_view field) const;
  bool is_object(std::string_view field) const;
  Error bad(std::string_view field, std::string_view expected) const;

 private:
  const nlohmann::json* find(std::string_view field) const;  // nullptr where absent or null
  std::shared_ptr<const nlohmann::json> document_;
  const nlohmann::json* object_;
  std::string file_;
  std::string path_;  // "vision_config." before a field's name in errors
};

}  // namespace foveal
