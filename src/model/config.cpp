#include "model/config.hpp"

#include "base/regular_file.hpp"

#include <nlohmann/json.hpp>

#include <cmath>

namespace foveal {

using nlohmann::json;

namespace {

std::string range_text(IntRange range) {
  return "an integer from " + std::to_string(range.min) + " to " + std::to_string(range.max);
}

// Integers as hub files have them: 14, and 14.0 in a few.
std::optional<std::int64_t> as_integer(const json& value) {
  if (value.is_number_integer()) {
    if (value.is_number_unsigned() && value.get<std::uint64_t>() > (std::uint64_t{1} << 62)) {
      return std::nullopt;
    }
    return value.get<std::int64_t>();
  }
  if (value.is_number_float()) {
    const double d = value.get<double>();
    if (std::floor(d) == d && std::fabs(d) < 1e15) {
      return static_cast<std::int64_t>(d);
    }
  }
  return std::nullopt;
}

bool inside(std::optional<std::int64_t> value, IntRange range) {
  return value && *value >= range.min && *value <= range.max;
}

}  // namespace

Result<std::shared_ptr<const json>> read_json(const std::string& path) {
  const auto invalid = [&](std::string reason) {
    constexpr std::size_t kShown = 300;  // the library quotes what it read last, however long
    if (reason.size() > kShown) {
      reason = reason.substr(0, kShown) + "...";
    }
    return Error(ErrorCode::kJsonInvalid, {{"file", path}, {"reason", std::move(reason)}});
  };
  // Indexes of the largest models have some 10 MB; a parsed document takes many times its text.
  constexpr std::int64_t kMaxBytes = std::int64_t{64} << 20;
  const FileText file = read_regular_file(path, kMaxBytes);
  if (!file.failure.empty()) {
    return invalid(file.failure);
  }
  // Real files nest some ten deep; printing a value in an error takes stack for each level.
  constexpr int kMaxDepth = 64;
  bool too_deep = false;
  const auto keep = [&](int depth, json::parse_event_t /*event*/, const json& /*value*/) {
    too_deep = too_deep || depth > kMaxDepth;
    return !too_deep;
  };
  try {  // the one boundary to the library's exceptions
    auto document = std::make_shared<const json>(json::parse(file.text, keep));
    if (too_deep) {
      return invalid("it nests deeper than " + std::to_string(kMaxDepth) + " levels");
    }
    return document;
  } catch (const json::exception& e) {
    return invalid(e.what());
  }
}

Config::Config(std::shared_ptr<const json> document, std::string file)
    : document_(std::move(document)), object_(document_.get()), file_(std::move(file)) {}

const json* Config::find(std::string_view field) const {
  if (!object_->is_object()) {
    return nullptr;
  }
  const auto it = object_->find(field);
  return it == object_->end() || it->is_null() ? nullptr : &*it;
}

bool Config::has(std::string_view field) const {
  return find(field) != nullptr;
}

bool Config::is_integer(std::string_view field) const {
  const json* value = find(field);
  return value != nullptr && as_integer(*value).has_value();
}

bool Config::is_object(std::string_view field) const {
  const json* value = find(field);
  return value != nullptr && value->is_object();
}

Error Config::bad(std::string_view field, std::string_view expected) const {
  const json* value = find(field);
  std::string shown =
      value == nullptr ? "absent" : value->dump(-1, ' ', true, json::error_handler_t::replace);
  constexpr std::size_t kShown = 80;
  if (shown.size() > kShown) {
    shown = shown.substr(0, kShown) + "...";
  }
  return Error(ErrorCode::kConfigField, {{"file", file_},
                                         {"field", path_ + std::string(field)},
                                         {"value", shown},
                                         {"expected", expected}});
}

Result<Config> Config::child(std::string_view field) const {
  static const json empty = json::object();
  Config out = *this;
  const json* value = find(field);
  if (value != nullptr && !value->is_object()) {
    return bad(field, "an object");
  }
  out.object_ = value == nullptr ? &empty : value;
  out.path_ += std::string(field) + ".";
  return out;
}

Result<std::int64_t> Config::integer(std::string_view field, std::int64_t fallback,
                                     IntRange range) const {
  const json* value = find(field);
  if (value == nullptr) {
    return fallback;
  }
  const auto number = as_integer(*value);
  if (!inside(number, range)) {
    return bad(field, range_text(range));
  }
  return *number;
}

Result<double> Config::real(std::string_view field, double fallback, double min, double max) const {
  const json* value = find(field);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_number() || !(value->get<double>() >= min && value->get<double>() <= max)) {
    return bad(field,
               "a number from " + ErrorField("", min).text() + " to " + ErrorField("", max).text());
  }
  return value->get<double>();
}

Result<std::string> Config::text(std::string_view field, std::string_view fallback) const {
  const json* value = find(field);
  if (value == nullptr) {
    return std::string(fallback);
  }
  if (!value->is_string()) {
    return bad(field, "a string");
  }
  return value->get<std::string>();
}

Result<bool> Config::flag(std::string_view field, bool fallback) const {
  const json* value = find(field);
  if (value == nullptr) {
    return fallback;
  }
  if (!value->is_boolean()) {
    return bad(field, "true or false");
  }
  return value->get<bool>();
}

Result<std::vector<std::int64_t>> Config::integers(std::string_view field,
                                                   std::vector<std::int64_t> fallback,
                                                   IntRange range) const {
  const json* value = find(field);
  if (value == nullptr) {
    return fallback;
  }
  const std::string expected = "a list, each " + range_text(range);
  if (!value->is_array()) {
    return bad(field, expected);
  }
  std::vector<std::int64_t> out;
  for (const json& item : *value) {
    const auto number = as_integer(item);
    if (!inside(number, range)) {
      return bad(field, expected);
    }
    out.push_back(*number);
  }
  return out;
}

Result<std::vector<double>> Config::reals(std::string_view field,
                                          std::vector<double> fallback) const {
  const json* value = find(field);
  if (value == nullptr) {
    return fallback;
  }
  std::vector<double> out;
  if (value->is_array()) {
    for (const json& item : *value) {
      if (!item.is_number() || !std::isfinite(item.get<double>())) {
        return bad(field, "a list of numbers");
      }
      out.push_back(item.get<double>());
    }
    return out;
  }
  return bad(field, "a list of numbers");
}

Result<std::vector<std::string>> Config::texts(std::string_view field) const {
  const json* value = find(field);
  std::vector<std::string> out;
  if (value == nullptr) {
    return out;
  }
  if (!value->is_array()) {
    return bad(field, "a list of strings");
  }
  for (const json& item : *value) {
    if (!item.is_string()) {
      return bad(field, "a list of strings");
    }
    out.push_back(item.get<std::string>());
  }
  return out;
}

Result<Config::Pair> Config::pair(std::string_view field, std::int64_t fallback,
                                  IntRange range) const {
  const json* value = find(field);
  if (value == nullptr) {
    return Pair{fallback, fallback};
  }
  if (value->is_array()) {
    if (value->size() != 2 || !inside(as_integer((*value)[0]), range) ||
        !inside(as_integer((*value)[1]), range)) {
      return bad(field, range_text(range) + ", or a pair of them");
    }
    return Pair{*as_integer((*value)[0]), *as_integer((*value)[1])};
  }
  const auto number = as_integer(*value);
  if (!inside(number, range)) {
    return bad(field, range_text(range) + ", or a pair of them");
  }
  return Pair{*number, *number};
}

}  // namespace foveal
