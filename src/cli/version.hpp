// What this program is built from: for --version and doctor.
#pragma once

#include "io/error_json.hpp"

#include <string>

namespace foveal::cli {

std::string version_text();
// {"version", "compiler", "build_type", "libraries": {...}}
io::Json version_json();

}  // namespace foveal::cli
