#include "search/cover_ranking.h"

#include <gtest/gtest.h>

namespace kw {
namespace {

std::vector<size_t> order_of(const std::vector<RankedCover>& ranked) {
  std::vector<size_t> out;
  for (const RankedCover& cover : ranked) out.push_back(cover.index);
  return out;
}

TEST(CoverRanking, TheFastestComesFirst) {
  TimeReport times;
  times.status = ReplyStatus::kOk;
  times.device_ms = {{9, 9, 9}, {5, 5, 90}, {3, 3, 3}, {4, 4, 4}};
  const auto ranked = rank_covers(times, {0, 0, 0});
  EXPECT_EQ(order_of(ranked), (std::vector<size_t>{1, 2, 0}));
  EXPECT_DOUBLE_EQ(ranked[0].seconds, 3e-3);
  EXPECT_DOUBLE_EQ(ranked[2].seconds, 5e-3);
}

TEST(CoverRanking, ACallTakesTheHostsTimeIfThatIsLarger) {
  TimeReport times;
  times.status = ReplyStatus::kOk;
  times.device_ms = {{9}, {5}, {3}, {4}};
  const auto ranked = rank_covers(times, {1e-3, 6e-3, 0});
  EXPECT_EQ(order_of(ranked), (std::vector<size_t>{2, 0, 1}));
  EXPECT_DOUBLE_EQ(ranked[2].seconds, 6e-3);
}

TEST(CoverRanking, WithoutTimesCoversStayAsTheyWereFound) {
  TimeReport times;
  times.status = ReplyStatus::kDied;
  times.message = "the device is lost";
  const auto ranked = rank_covers(times, {0, 0, 0});
  EXPECT_EQ(order_of(ranked), (std::vector<size_t>{0, 1, 2}));
  for (const RankedCover& cover : ranked) EXPECT_EQ(cover.seconds, 0);
}

TEST(CoverRanking, AFailedTimingIsAFinalistsReason) {
  EXPECT_EQ(finalist_reason("", ""), "");
  EXPECT_EQ(finalist_reason("slower", ""), "slower");
  EXPECT_EQ(finalist_reason("", "lost"), "the covers could not be timed: lost");
  EXPECT_EQ(finalist_reason("slower", "lost"), "slower; the covers could not be timed: lost");
}

}  // namespace
}  // namespace kw
