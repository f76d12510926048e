// Text from outside (names of files, values of a config) inside of a sentence for people: control
// characters, which break the line or steer a terminal, come out as \n or \x1b.
#pragma once

#include <string>
#include <string_view>

namespace foveal {

std::string printable(std::string_view text);

}  // namespace foveal
