#include "train/rl/curriculum.h"

#include <gtest/gtest.h>

#include <numeric>

#include "formats/base/error.h"

namespace kw::train {
namespace {

using Step = Curriculum::Step;

CurriculumOptions options(std::vector<int> levels, int64_t patience = 3) {
  CurriculumOptions out;
  out.levels = std::move(levels);
  out.earlier_share = 0.3;
  out.patience = patience;
  return out;
}

// Of 200 tasks Wilson's lower bound passes one half at 115: (115 + 1.92) / 203.84 less
// 1.96 / 203.84 * sqrt(115 * 85 / 200 + 0.96) is 0.5057; of 114 it is 0.5007, of 113 0.4957.
TEST(Curriculum, PromotesWhereTheLowerBoundPassesOneHalf) {
  for (const int64_t right : {100, 110, 113}) {
    Curriculum curriculum(options({1, 2}));
    EXPECT_EQ(curriculum.take({right, 200}), Step::kStays) << right;
    EXPECT_EQ(curriculum.level(), 1);
  }
  for (const int64_t right : {114, 115, 200}) {
    Curriculum curriculum(options({1, 2}));
    EXPECT_EQ(curriculum.take({right, 200}), Step::kPromoted) << right;
    EXPECT_EQ(curriculum.level(), 2);
  }
  Curriculum few(options({1, 2}));
  EXPECT_EQ(few.take({3, 3}), Step::kStays);  // three of three show little
  EXPECT_EQ(few.take({0, 0}), Step::kStays);
}

TEST(Curriculum, EarlierLevelsKeepAShare) {
  Curriculum curriculum(options({1, 2, 5}));
  EXPECT_EQ(curriculum.weights(), (std::vector<double>{1, 0, 0}));
  curriculum.take({200, 200});
  EXPECT_EQ(curriculum.weights(), (std::vector<double>{0.3, 0.7, 0}));
  curriculum.take({200, 200});
  const auto last = curriculum.weights();
  EXPECT_NEAR(last[0], 0.15, 1e-12);
  EXPECT_NEAR(last[1], 0.15, 1e-12);
  EXPECT_NEAR(last[2], 0.7, 1e-12);
  auto mixed = options({1, 2, 5});
  mixed.one_by_one = false;
  EXPECT_EQ(Curriculum(mixed).weights(), (std::vector<double>{1, 1, 1}));
}

TEST(Curriculum, EndsWhereTheBoundRisesNoMore) {
  Curriculum curriculum(options({1}, 3));
  EXPECT_EQ(curriculum.take({50, 200}), Step::kStays);
  EXPECT_EQ(curriculum.take({50, 200}), Step::kStays);
  EXPECT_EQ(curriculum.take({40, 200}), Step::kStays);
  EXPECT_EQ(curriculum.take({60, 200}), Step::kStays);  // a gain: the wait begins again
  EXPECT_EQ(curriculum.take({60, 200}), Step::kStays);
  EXPECT_EQ(curriculum.take({55, 200}), Step::kStays);
  EXPECT_FALSE(curriculum.ended());
  EXPECT_EQ(curriculum.take({60, 200}), Step::kEnds);
  EXPECT_TRUE(curriculum.ended());
  Curriculum last(options({1}, 0));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(last.take({200, 200}), Step::kStays);  // and no level 2
}

TEST(Curriculum, WaitsAnewAtANewLevel) {
  Curriculum curriculum(options({1, 2}, 2));
  curriculum.take({100, 200});
  curriculum.take({90, 200});
  EXPECT_EQ(curriculum.take({150, 200}), Step::kPromoted);
  EXPECT_EQ(curriculum.take({2, 200}), Step::kStays);  // less than level 1 had, and the best here
  EXPECT_EQ(curriculum.take({1, 200}), Step::kStays);
  EXPECT_EQ(curriculum.take({1, 200}), Step::kEnds);
}

TEST(Curriculum, GoesOnFromItsState) {
  Curriculum through(options({1, 2, 5}, 2)), other(options({1, 2, 5}, 2));
  for (const int64_t right : {150, 20, 19}) through.take({right, 200});
  other.restore(through.state());
  EXPECT_EQ(other.level(), 2);
  EXPECT_EQ(other.take({20, 200}), Step::kEnds);
  EXPECT_EQ(through.take({20, 200}), Step::kEnds);
  Curriculum stranger(options({3}));
  EXPECT_THROW(stranger.restore(through.state()), InputError);
  EXPECT_THROW(Curriculum(options({})), InputError);
}

}  // namespace
}  // namespace kw::train
