#include "io/error_json.hpp"

namespace foveal::io {

Json to_json(const Error& error) {
  Json fields = Json::object();
  for (const ErrorField& field : error.fields()) {
    std::visit([&](const auto& value) { fields[field.name] = value; }, field.value);
  }
  Json out = {{"id", error.id()},
              {"name", error.name()},
              {"message", error.message()},
              {"fix", error.fix()},
              {"fields", std::move(fields)}};
  if (error.cause() != nullptr) {
    out["cause"] = to_json(*error.cause());
  }
  return out;
}

Json parse(std::string_view text) {
  constexpr int kMaxDepth = 64;
  bool too_deep = false;
  const auto keep = [&](int depth, Json::parse_event_t /*event*/, const Json& /*value*/) {
    too_deep = too_deep || depth > kMaxDepth;
    return !too_deep;
  };
  Json out = Json::parse(text, keep, false);
  return too_deep ? Json(Json::value_t::discarded) : out;
}

std::string text_member(const Json& object, std::string_view key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace foveal::io
