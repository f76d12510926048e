// Replays the fuzz corpus: what once broke a decoder stays mended.
#include "../../fuzz/image_fuzz.cpp"

#include "image/support.hpp"

namespace foveal {
namespace {

TEST(FuzzCorpus, Replays) {
  int replayed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(FOVEAL_SOURCE_DIR) / "fuzz" / "corpus" / "image")) {
    const FileBytes bytes = read_bytes(entry.path());
    EXPECT_EQ(LLVMFuzzerTestOneInput(bytes.data(), bytes.size()), 0) << entry.path();
    ++replayed;
  }
  EXPECT_GE(replayed, 20);
}

}  // namespace
}  // namespace foveal
