// Names of outputs, and the layer that `pooled` may come from.
#include "api/outputs.hpp"

#include <gtest/gtest.h>

namespace foveal {
namespace {

using Names = std::vector<std::string>;

const Names kKnown{"pixel_values",      "hidden_states.0", "hidden_states.1", "hidden_states.10",
                   "last_hidden_state", "deepstack.0",     "pooled"};

TEST(Outputs, GroupsStandForTheirMembersAndEachNameComesOnceInTheModelsOrder) {
  EXPECT_EQ(expand_outputs(Names{"pooled"}, kKnown).value(), Names{"pooled"});
  EXPECT_EQ(expand_outputs(Names{"all"}, kKnown).value(), kKnown);
  EXPECT_EQ(
      expand_outputs(Names{"pooled", "hidden_states", "hidden_states.1", "pooled"}, kKnown).value(),
      (Names{"hidden_states.0", "hidden_states.1", "hidden_states.10", "pooled"}));
  EXPECT_EQ(expand_outputs(Names{"deepstack"}, kKnown).value(), Names{"deepstack.0"});
  EXPECT_EQ(expand_outputs(Names{"hidden_states.1"}, kKnown).value(), Names{"hidden_states.1"});
}

TEST(Outputs, UnknownNamesAreRefusedWithTheKnownOnes) {
  for (const char* name :
       {"poolde", "", "hidden_states.2", "hidden_states.", "hidden_state", "last_hidden_state.0"}) {
    const auto r = expand_outputs(Names{"pooled", name}, kKnown);
    ASSERT_FALSE(r) << name;
    EXPECT_EQ(r.error().code(), ErrorCode::kOptionUnknown);
    EXPECT_EQ(r.error().field("value")->text(), name);
    EXPECT_EQ(r.error().field("expected")->text(),
              "all, pixel_values, hidden_states, hidden_states.N, last_hidden_state, deepstack, "
              "deepstack.N, pooled");
  }
  // A group that the model has nothing of is unknown, not empty.
  EXPECT_FALSE(expand_outputs(Names{"deepstack"}, Names{"pooled"}));
  const auto none = expand_outputs(Names{}, kKnown);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::kOptionInvalid);
}

TEST(Outputs, LayerIsOneOfTheHiddenStates) {
  const Names known{"hidden_states.0", "hidden_states.1", "hidden_states.2", "pooled"};
  EXPECT_TRUE(check_layer(std::nullopt, known));
  EXPECT_TRUE(check_layer(0, known));
  EXPECT_TRUE(check_layer(2, known));
  for (const std::int64_t layer : {-1, 3}) {
    const Status status = check_layer(layer, known);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code(), ErrorCode::kOptionInvalid);
    EXPECT_NE(status.error().fix().find("to 2"), std::string::npos) << status.error().fix();
  }
  EXPECT_FALSE(check_layer(0, Names{"pooled"}));
}

}  // namespace
}  // namespace foveal
