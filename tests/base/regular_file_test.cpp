// What is no regular file is refused at once: opening it must not wait, reading it must end.
#include "base/regular_file.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace foveal {
namespace {

namespace fs = std::filesystem;

class RegularFileTest : public ::testing::Test {
 protected:
  RegularFileTest() {
    std::string pattern = (fs::temp_directory_path() / "foveal_test_XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~RegularFileTest() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }
  std::string path(const char* name) const { return (folder_ / name).string(); }
  fs::path folder_;
};

TEST_F(RegularFileTest, GivesTheWholeText) {
  const std::string text("a\0b\n", 4);
  std::ofstream(path("a"), std::ios::binary) << text;
  const FileText read = read_regular_file(path("a"), 4);
  EXPECT_EQ(read.failure, "");
  EXPECT_EQ(read.text, text);
}

TEST_F(RegularFileTest, RefusesMoreThanTheLimitUnread) {
  std::ofstream(path("a")) << "12345";
  fs::resize_file(path("a"), std::uintmax_t{1} << 40);  // sparse
  const FileText read = read_regular_file(path("a"), 4);
  EXPECT_EQ(read.failure, "it has 1099511627776 bytes, more than the limit of 4");
  EXPECT_EQ(read.text, "");
}

TEST_F(RegularFileTest, RefusesWhatMayWaitOrNeverEnd) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", path("zero"));
  fs::create_symlink(path("loop"), path("loop"));
  for (const std::string& odd : {path("pipe"), path("zero"), path("loop"), path("absent"),
                                 folder_.string(), std::string()}) {
    EXPECT_NE(read_regular_file(odd, 4).failure, "") << odd;
    EXPECT_NE(RegularFile::open(odd).failure(), "") << odd;
  }
}

TEST_F(RegularFileTest, DoesNotCutANameAtANul) {
  std::ofstream(path("a")) << "text";
  const std::string name = path("a") + std::string("\0b", 2);
  EXPECT_EQ(read_regular_file(name, 4).failure, "its name holds a NUL character");
}

TEST_F(RegularFileTest, ReadsWhatIsLeftOfAFileThatShrinks) {
  std::ofstream(path("a")) << "12345678";
  RegularFile file = RegularFile::open(path("a"));
  fs::resize_file(path("a"), 3);
  std::array<std::byte, 8> into{};
  EXPECT_EQ(file.size(), 8);
  EXPECT_EQ(file.read(into), std::size_t{3});
}

}  // namespace
}  // namespace foveal
