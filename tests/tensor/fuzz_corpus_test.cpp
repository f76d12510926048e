#include "../../fuzz/tensor_fuzz.cpp"

#include "fuzz_corpus.hpp"

namespace foveal {
namespace {

TEST(FuzzCorpus, Replays) { testing::replay_corpus("tensor", 5, LLVMFuzzerTestOneInput); }

}  // namespace
}  // namespace foveal
