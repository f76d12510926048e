// Expands patterns that the shell left alone: * ? [abc] within a name, ** for any number of
// folders.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foveal::cli {

bool has_wildcard(std::string_view path);
// Existing paths that match, in byte order. Names that begin with a dot match only where the
// pattern does too.
std::vector<std::string> expand_glob(const std::string& pattern);

}  // namespace foveal::cli
