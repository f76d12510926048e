// Replays a fuzz corpus as a unit test: what once broke a parser stays mended.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace foveal::testing {

inline void replay_corpus(const std::string& name, int at_least,
                          int (*target)(const std::uint8_t*, std::size_t)) {
  int replayed = 0;
  const auto folder = std::filesystem::path(FOVEAL_SOURCE_DIR) / "fuzz" / "corpus" / name;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream in(entry.path(), std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
    EXPECT_EQ(target(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()), 0)
        << entry.path();
    ++replayed;
  }
  EXPECT_GE(replayed, at_least);
}

}  // namespace foveal::testing
