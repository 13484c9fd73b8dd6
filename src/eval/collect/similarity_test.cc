#include "eval/collect/similarity.h"

#include <gtest/gtest.h>

#include <string>

namespace kw {
namespace {

TEST(Similarity, LayoutCommentsAndNumberedNamesDoNotMatter) {
  const std::string one = "t17 = a0 + 1  # sum\nk3(t17, a0)\n", other = "t4=a0+1\n\n  k9( t4,a0 )";
  EXPECT_EQ(token_runs(one, 5, true), token_runs(other, 5, true));
  EXPECT_NE(token_runs(one, 5, false), token_runs(other, 5, false));
  EXPECT_NE(token_runs(one, 5, true), token_runs("t4 = a0 + 2\nk9(t4, a0)", 5, true));
  // Which is used where does.
  EXPECT_NE(token_runs(one, 5, true), token_runs("t4 = a0 + 1\nk9(a0, t4)", 5, true));
  EXPECT_TRUE(token_runs(" # nothing", 5, true).empty());
  EXPECT_EQ(token_runs("a b", 5, true).size(), 1u);
}

TEST(Similarity, IsTheShareOfCommonRuns) {
  const auto runs = [](const char* text) { return token_runs(text, 2, false); };
  EXPECT_EQ(jaccard(runs("a b c d"), runs("a b c d")), 1);
  EXPECT_EQ(jaccard(runs("a b c d"), runs("w x y z")), 0);
  EXPECT_DOUBLE_EQ(jaccard(runs("a b c d"), runs("a b c e")), 2.0 / 4);  // ab, bc; cd, ce
  EXPECT_EQ(jaccard({}, {}), 1);
}

TEST(KnownTexts, AreFoundInOthersButForWhatAllHave) {
  std::string frame, body[3];
  for (int i = 0; i < 40; ++i) frame += "frame" + std::to_string(i) + " ";
  for (int b = 0; b < 3; ++b) {
    for (int i = 0; i < 40; ++i)
      body[b] += std::string(1, static_cast<char>('x' + b)) + std::to_string(i) + " ";
  }
  KnownTexts known;
  known.add(frame + body[0]);
  known.add(frame + body[1]);
  EXPECT_EQ(known.share_known(frame), 0) << "what all have";
  EXPECT_LT(known.share_known(frame + body[2]), 0.01);
  EXPECT_EQ(known.share_known(body[0]), 1);
  EXPECT_GT(known.share_known(body[2] + body[1]), 0.3);
  EXPECT_EQ(KnownTexts().share_known(frame), 0);
}

}  // namespace
}  // namespace kw
