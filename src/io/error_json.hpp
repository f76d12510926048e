// Errors as JSON, the same form in output files, on stderr and in summaries:
// {"id", "name", "message", "fix", "fields": {...}, "cause": {...} where there is one}. Text that
// is not UTF-8 (file names may be anything) has its bad bytes replaced.
#pragma once

#include <foveal/error.hpp>

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace foveal::io {

using Json = nlohmann::ordered_json;  // keys stay in the order in which people want to read them

Json to_json(const Error& error);
// indent < 0: one line.
std::string dump(const Json& json, int indent = -1);

}  // namespace foveal::io
