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
// Text from outside. Discarded (is_discarded(), no object, no array) where it is no JSON or nests
// deeper than 64 levels: dump and comparison take stack for each.
Json parse(std::string_view text);
// A member that should be text; empty where it is absent or something else.
std::string text_member(const Json& object, std::string_view key);
// indent < 0: one line.
std::string dump(const Json& json, int indent = -1);

}  // namespace foveal::io
