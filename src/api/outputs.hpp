// Names of outputs as people write them -> the model's own names.
#pragma once

#include <foveal/error.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace foveal {

// "all", "hidden_states" and "deepstack" become the names they stand for; each name comes once, in
// the order of `known` (ModelInfo::outputs). OptionUnknown names what may be asked for;
// OptionInvalid where none was.
Result<std::vector<std::string>> expand_outputs(std::span<const std::string> asked,
                                                std::span<const std::string> known);

// OptionInvalid unless the model has hidden_states.N.
Status check_layer(std::optional<std::int64_t> layer, std::span<const std::string> known);

}  // namespace foveal
