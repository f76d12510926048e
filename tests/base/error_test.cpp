// Errors carry fields and are rendered from the catalogue; results hand values and errors on.
#include "base/check.hpp"

#include <foveal/error.hpp>

#include <gtest/gtest.h>

#include <memory>

namespace foveal {
namespace {

Error too_small() {
  return Error(ErrorCode::kMaxSeqlenTooSmall,
               {{"max_seqlen", 256}, {"longest", 1024}, {"index", 1}});
}

TEST(Error, RendersFieldsIntoMessageAndFix) {
  const Error e = too_small();
  EXPECT_EQ(e.id(), "FV-1102");
  EXPECT_EQ(e.name(), "MaxSeqlenTooSmall");
  EXPECT_NE(e.message().find("256"), std::string::npos);
  EXPECT_NE(e.fix().find("max_seqlen=1024"), std::string::npos);
  EXPECT_EQ(e.http_status(), 400);
  EXPECT_EQ(std::get<std::int64_t>(e.field("longest")->value), 1024);
  EXPECT_EQ(e.field("nothing"), nullptr);
}

TEST(Error, LeavesMissingFieldsVisible) {
  const Error e(ErrorCode::kMaxSeqlenTooSmall, {{"max_seqlen", 256}});
  EXPECT_NE(e.message().find("{longest}"), std::string::npos);
}

TEST(Error, DescribesItsCause) {
  const Error e = Error(ErrorCode::kInternal, {{"condition", "x"}, {"file", "f"}, {"line", 1}})
                      .with_cause(too_small());
  EXPECT_NE(e.describe().find("FV-1102"), std::string::npos);
  EXPECT_NE(e.describe().find("FV-9001"), std::string::npos);
}

TEST(Error, KeepsAFieldThatIsThere) {
  const Error e = too_small().with_field({"index", 7}).with_field({"file", "a.bin"});
  EXPECT_EQ(std::get<std::int64_t>(e.field("index")->value), 1);
  EXPECT_EQ(e.field("file")->text(), "a.bin");
}

TEST(Error, TableHasEveryCodeUnderItsIdAndName) {
  for (const ErrorInfo& info : error_table()) {
    EXPECT_EQ(&error_info(info.code), &info);
    EXPECT_EQ(find_error(info.name), &info);
    EXPECT_EQ(find_error(Error(info.code).id()), &info);
  }
  EXPECT_EQ(find_error("FV-0000"), nullptr);
}

Result<int> half(int x) {
  if (x % 2 != 0) {
    return too_small();
  }
  return x / 2;
}

Result<int> quarter(int x) {
  FOVEAL_TRY(const int h, half(x));
  return half(h);
}

TEST(Result, PropagatesAndThrowsAtTheEdge) {
  EXPECT_EQ(quarter(8).value(), 2);
  EXPECT_FALSE(quarter(6));
  EXPECT_THROW(static_cast<void>(quarter(7).value()), Exception);
  try {
    static_cast<void>(quarter(7).value());
  } catch (const Exception& e) {
    EXPECT_EQ(e.error().code(), ErrorCode::kMaxSeqlenTooSmall);
    EXPECT_NE(std::string(e.what()).find("FV-1102"), std::string::npos);
  }
}

TEST(Result, HoldsWhatCannotBeDefaultMade) {
  Result<std::unique_ptr<int>> r = std::make_unique<int>(3);
  const std::unique_ptr<int> p = std::move(r).value();
  EXPECT_EQ(*p, 3);
}

Status checked_positive(int x) {
  FOVEAL_CHECK(x > 0);
  return {};
}

TEST(Check, ReportsOurBugs) {
  EXPECT_TRUE(checked_positive(1));
#if defined(FOVEAL_ABORT_ON_CHECK)
  EXPECT_DEATH(static_cast<void>(checked_positive(-1)), "x > 0");
#else
  EXPECT_EQ(checked_positive(-1).error().code(), ErrorCode::kInternal);
#endif
}

}  // namespace
}  // namespace foveal
