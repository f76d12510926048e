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

std::string dump(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace foveal::io
