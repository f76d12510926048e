// Replays fuzz/corpus/tensor through its fuzz target, as a test of every build: safetensors headers
// that were once wrong, and their like.
#include "../../fuzz/tensor_fuzz.cpp"

#include "fuzz_corpus.hpp"

namespace foveal {
namespace {

TEST(FuzzCorpus, Replays) {
  testing::replay_corpus("tensor", 5, LLVMFuzzerTestOneInput);
}

}  // namespace
}  // namespace foveal
