// The pictures that a command line names. A file is taken as it is named, whatever its ending; a
// folder gives all files below it that end as pictures do, in byte order of their paths, hidden
// ones left out; a pattern that names no file is expanded here; "-" reads one path a line from
// `lines`.
#pragma once

#include <foveal/error.hpp>

#include <istream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace foveal::cli {

// InputEmpty where nothing is left. A named file that is not there stays in the list: its own error
// tells.
Result<std::vector<std::string>> collect_inputs(std::span<const std::string> arguments,
                                                std::istream& lines);

// By its ending, in any case: jpg, png, webp ...
bool ends_like_picture(std::string_view path);

}  // namespace foveal::cli
