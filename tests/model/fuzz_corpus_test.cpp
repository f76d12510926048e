// Replays fuzz/corpus/model through its fuzz target, as a test of every build: configs that were
// once wrong, and their like.
#include "../../fuzz/model_fuzz.cpp"

#include "fuzz_corpus.hpp"

namespace foveal {
namespace {

TEST(FuzzCorpus, Replays) {
  testing::replay_corpus("model", 5, LLVMFuzzerTestOneInput);
}

}  // namespace
}  // namespace foveal
