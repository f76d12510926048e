#include "api/outputs.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace foveal {
namespace {

constexpr std::array<std::string_view, 2> kGroups{"hidden_states", "deepstack"};

bool in_group(std::string_view name, std::string_view group) {
  return name.size() > group.size() && name.starts_with(group) && name[group.size()] == '.';
}

bool stands_for(std::string_view asked, std::string_view name) {
  return asked == "all" || asked == name ||
         (std::ranges::find(kGroups, asked) != kGroups.end() && in_group(name, asked));
}

// What may be asked for, groups by their one name: a list of 30 layers helps nobody.
std::string choices(std::span<const std::string> known) {
  std::string out = "all";
  std::string_view last_group;
  for (const std::string& name : known) {
    const auto group =
        std::ranges::find_if(kGroups, [&](std::string_view g) { return in_group(name, g); });
    if (group == kGroups.end()) {
      out += ", " + name;
    } else if (*group != last_group) {
      last_group = *group;
      out += ", " + std::string(*group) + ", " + std::string(*group) + ".N";
    }
  }
  return out;
}

}  // namespace

Result<std::vector<std::string>> expand_outputs(std::span<const std::string> asked,
                                                std::span<const std::string> known) {
  if (asked.empty()) {
    return Error(ErrorCode::kOptionInvalid,
                 {{"option", "outputs"},
                  {"value", "nothing"},
                  {"expected", "outputs names at least one of " + choices(known)}});
  }
  std::vector<std::string> out;
  for (const std::string& name : known) {
    if (std::ranges::any_of(asked, [&](const std::string& a) { return stands_for(a, name); })) {
      out.push_back(name);
    }
  }
  for (const std::string& a : asked) {
    if (std::ranges::none_of(known, [&](const std::string& name) { return stands_for(a, name); })) {
      return Error(ErrorCode::kOptionUnknown,
                   {{"option", "outputs"}, {"value", a}, {"expected", choices(known)}});
    }
  }
  return out;
}

Status check_layer(std::optional<std::int64_t> layer, std::span<const std::string> known) {
  if (!layer ||
      std::ranges::find(known, "hidden_states." + std::to_string(*layer)) != known.end()) {
    return {};
  }
  const auto layers =
      std::ranges::count_if(known, [](const std::string& n) { return in_group(n, kGroups[0]); });
  return Error(ErrorCode::kOptionInvalid,
               {{"option", "layer"},
                {"value", std::to_string(*layer)},
                {"expected",
                 layers > 0 ? "layer is 0 (the embeddings) to " + std::to_string(layers - 1)
                            : std::string("leave layer out: this model has no output by layer")}});
}

}  // namespace foveal
