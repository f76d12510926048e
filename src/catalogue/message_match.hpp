// Recognises a message template whose fields were filled in, anywhere inside a pasted text. Linear
// in the length of the text: sets of reachable positions instead of backtracking, so that hostile
// pastes cost nothing.
#pragma once

#include "catalogue/catalogue.hpp"

#include <span>
#include <string>
#include <string_view>

namespace foveal::catalogue {

// Lower case, every run of white space one space, a space at both ends: what match_message
// compares.
std::string normalized(std::string_view text);

// How many letters and digits of the template outside its fields are in `text` (normalized), in
// order and with field values between them that fit the fields' types; 0 where it does not match.
int match_message(std::string_view message_template, std::span<const Field> fields,
                  std::string_view text);

}  // namespace foveal::catalogue
