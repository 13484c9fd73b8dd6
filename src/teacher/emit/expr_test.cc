// Kernel expressions: brackets where Python needs them, zeros and ones folded.
#include "teacher/emit/expr.h"

#include <gtest/gtest.h>

namespace kw::teacher {
namespace {

TEST(Expr, PutsBracketsWhereTheMeaningNeedsThem) {
  const Expr a = "a", b = "b", c = "c";
  EXPECT_EQ((a + b * c).text(), "a + b * c");
  EXPECT_EQ(((a + b) * c).text(), "(a + b) * c");
  EXPECT_EQ((a * (b + c)).text(), "a * (b + c)");
  EXPECT_EQ((a - (b - c)).text(), "a - (b - c)");
  EXPECT_EQ((a - (b + c)).text(), "a - (b + c)");
  EXPECT_EQ((a - b + c).text(), "a - b + c");
  EXPECT_EQ((a + (b + c)).text(), "a + b + c");
}

TEST(Expr, DivisionAndRemainderApplyFromLeftToRight) {
  const Expr a = "a", b = "b", c = "c";
  EXPECT_EQ((a / b % c).text(), "a // b % c");
  EXPECT_EQ((a / (b * c) * c).text(), "a // (b * c) * c");
  EXPECT_EQ((a * (b % c)).text(), "a * (b % c)");
  EXPECT_EQ((a % b + c).text(), "a % b + c");
  EXPECT_EQ(((a + b) / c).text(), "(a + b) // c");
}

TEST(Expr, FoldsZeroAndOne) {
  const Expr a = "a";
  EXPECT_EQ((a * 1).text(), "a");
  EXPECT_EQ((1 * a).text(), "a");
  EXPECT_EQ((a * 0).text(), "0");
  EXPECT_EQ((a + 0).text(), "a");
  EXPECT_EQ((0 + a).text(), "a");
  EXPECT_EQ((a - 0).text(), "a");
  EXPECT_EQ((0 - a).text(), "0 - a");
  EXPECT_EQ((a / 1).text(), "a");
  EXPECT_EQ((a % 1).text(), "0");
}

TEST(Expr, SuffixesBindToTheWholeValue) {
  const Expr a = "a", b = "b";
  EXPECT_EQ(a.with("[:, None]").text(), "a[:, None]");
  EXPECT_EQ((a + b).with("[:, None]").text(), "(a + b)[:, None]");
  EXPECT_EQ((a + b).with("").text(), "a + b");
  EXPECT_EQ((a.with(".to(tl.int64)") * b).text(), "a.to(tl.int64) * b");
}

}  // namespace
}  // namespace kw::teacher
