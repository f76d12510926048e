// Names from outside must not break a line of the log or steer the terminal that shows it.
#include "base/printable.hpp"

#include <foveal/error.hpp>

#include <gtest/gtest.h>

namespace foveal {
namespace {

TEST(Printable, LeavesOrdinaryTextAlone) {
  for (const char* text : {"", "a b'\"\\.png", "\xC3\xA9t\xC3\xA9 \xF0\x9F\x98\x80", "\xFF\xFE"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ(printable("a\nb\r\x1B[31m\x7F\t"), "a\\nb\\x0d\\x1b[31m\\x7f\\x09");
  EXPECT_EQ(printable("\xC2\x9B"
                      "2J\xC2\xA0\xC2"),
            "\\x9b"
            "2J\xC2\xA0\xC2");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
}

TEST(Printable, IsWhatMessagesAreMadeOf) {
  const std::string name = "x\nfoveal: error FV-9001\x1B[2J.png";
  const Error error(ErrorCode::kImageUnreadable, {{"file", name}, {"reason", "gone"}});
  EXPECT_EQ(error.message().find_first_of("\n\x1B"), std::string::npos) << error.message();
  EXPECT_EQ(error.field("file")->text(), name) << "programs get it as it is";
}

}  // namespace
}  // namespace foveal
