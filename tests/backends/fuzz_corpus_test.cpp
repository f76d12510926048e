// Replays the corpus of the differential fuzzer; it aborts where two backends disagree.
#include "../../fuzz/attention_fuzz.cpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace {

TEST(AttentionFuzzCorpus, EveryBackendGivesOneAnswer) {
  const std::filesystem::path folder =
      std::filesystem::path(FOVEAL_SOURCE_DIR) / "fuzz/corpus/attention";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(file)),
                            std::istreambuf_iterator<char>());
    SCOPED_TRACE(entry.path().filename().string());
    EXPECT_EQ(
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()),
        0);
    ++count;
  }
  EXPECT_GT(count, 20);
}

}  // namespace
