// Intervals against published values, against the equations that define them, and by how often they
// hold what is true of samples drawn with fixed seeds. Tolerances of the latter are four standard
// deviations of a binomial count, not tuned.
#include "verify/verdict/intervals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <tuple>

namespace kw {
namespace {

constexpr double kZ95 = 1.959963984540054;  // of tables

TEST(Intervals, QuantilesOfTheNormalDistributionAreThoseOfTables) {
  EXPECT_NEAR(normal_quantile(0.975), kZ95, 1e-12);
  EXPECT_NEAR(normal_quantile(0.5), 0, 1e-12);
  EXPECT_NEAR(normal_quantile(0.025), -kZ95, 1e-12);
  EXPECT_NEAR(normal_quantile(0.995), 2.5758293035489004, 1e-12);
}

// Newcombe, "Two-sided confidence intervals for the single proportion" (1998), table I, method 3.
TEST(Intervals, WilsonGivesPublishedValues) {
  const struct {
    int hits, count;
    double lower, upper;
  } rows[] = {{81, 263, 0.2553, 0.3662},
              {15, 148, 0.0624, 0.1605},
              {0, 20, 0.0, 0.1611},
              {1, 29, 0.0061, 0.1718}};
  for (const auto& row : rows) {
    const Interval found = wilson(row.hits, row.count);
    EXPECT_NEAR(found.estimate, static_cast<double>(row.hits) / row.count, 1e-15);
    EXPECT_NEAR(found.lower, row.lower, 5e-5);
    EXPECT_NEAR(found.upper, row.upper, 5e-5);
  }
}

// Its ends are the shares p at which |seen - p| is z standard deviations of a share p, except 0 of
// a sample without hits and 1 of one without misses.
TEST(Intervals, EndsOfWilsonAreWhereTheTestTurns) {
  for (const int count : {1, 2, 7, 100, 5000}) {
    for (int hits = 0; hits <= count; hits += count > 100 ? 997 : 1) {
      const Interval found = wilson(hits, count);
      const double seen = static_cast<double>(hits) / count;
      for (const double p : {found.lower, found.upper}) {
        if ((hits == 0 && p == found.lower) || (hits == count && p == found.upper)) {
          EXPECT_EQ(p, seen);
        } else {
          EXPECT_NEAR(std::abs(seen - p), kZ95 * std::sqrt(p * (1 - p) / count), 1e-12);
        }
      }
      const Interval mirrored = wilson(count - hits, count);
      EXPECT_NEAR(mirrored.lower, 1 - found.upper, 1e-12);
    }
  }
}

// How often an interval holds the truth, of `runs` samples.
double coverage(int runs, const std::function<bool(std::mt19937_64&)>& holds) {
  std::mt19937_64 random(20240607);
  int count = 0;
  for (int i = 0; i < runs; ++i) count += holds(random);
  return static_cast<double>(count) / runs;
}
double four_deviations(double share, int runs) { return 4 * std::sqrt(share * (1 - share) / runs); }
double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1.0p-53; }
double normal(std::mt19937_64& random) {  // Box and Muller
  const double radius = std::sqrt(-2 * std::log(1 - uniform(random)));
  return radius * std::cos(2 * M_PI * uniform(random));
}

TEST(Intervals, WilsonHoldsTheTruthAsOftenAsBinomialTheorySays) {
  constexpr int kRuns = 4000;
  for (const auto& [count, p] : {std::pair{30, 0.5}, {100, 0.3}, {100, 0.95}, {20, 0.1}}) {
    // The share of samples whose interval holds p is the sum of their probabilities; whether an
    // interval holds it is told by the test that Wilson's inverts, not by wilson().
    double expected = 0;
    for (int hits = 0; hits <= count; ++hits) {
      const double log_probability = std::lgamma(count + 1) - std::lgamma(hits + 1) -
                                     std::lgamma(count - hits + 1) + hits * std::log(p) +
                                     (count - hits) * std::log1p(-p);
      const double seen = static_cast<double>(hits) / count;
      if (std::abs(seen - p) <= kZ95 * std::sqrt(p * (1 - p) / count)) {
        expected += std::exp(log_probability);
      }
    }
    const double found = coverage(kRuns, [&, count = count, p = p](std::mt19937_64& random) {
      int hits = 0;
      for (int i = 0; i < count; ++i) hits += uniform(random) < p;
      const Interval interval = wilson(hits, count);
      return interval.lower <= p && p <= interval.upper;
    });
    EXPECT_NEAR(found, expected, four_deviations(expected, kRuns)) << count << " " << p;
    EXPECT_NEAR(expected, 0.95, 0.03);
  }
}

// The bootstrap of a mean is close to normal theory with the sample's own deviation (divided by n),
// which holds the truth a little less often than it says: of 150 normal values 0.947.
TEST(Intervals, BootstrapHoldsTheTruthAsOftenAsItSays) {
  constexpr int kRuns = 400, kTasks = 150;
  const BootstrapOptions options{.resamples = 1000};
  const auto near = [&](double found) { EXPECT_NEAR(found, 0.95, four_deviations(0.95, kRuns)); };
  near(coverage(kRuns, [&](std::mt19937_64& random) {  // of shares of 0, 1/4, ... 1
    std::vector<double> values;
    for (int i = 0; i < kTasks; ++i) values.push_back(0.25 * static_cast<double>(random() % 5));
    const Interval found = bootstrap(values, mean, options);
    return found.lower <= 0.5 && 0.5 <= found.upper;
  }));
  near(coverage(kRuns, [&](std::mt19937_64& random) {  // of speedups, 1.3 times or divided by 2
    std::vector<double> values;
    for (int i = 0; i < kTasks; ++i) values.push_back(1.3 * std::exp(0.7 * normal(random)));
    const Interval found = bootstrap(values, geometric_mean, options);
    return found.lower <= 1.3 && 1.3 <= found.upper;
  }));
}

// Shares of four answers that are right, of two policies that share what makes a task hard.
TEST(Intervals, PairedIntervalsHoldTheDifferenceAndAreNarrower) {
  constexpr int kRuns = 2000, kTasks = 150;
  double paired_width = 0, single_width = 0;
  const double found = coverage(kRuns, [&](std::mt19937_64& random) {
    std::vector<double> ours, theirs;
    for (int i = 0; i < kTasks; ++i) {
      const double hard = std::floor(4 * uniform(random)) / 4;  // 0 to 3/4, and 1/4 more in half
      theirs.push_back(hard);
      ours.push_back(hard + (uniform(random) < 0.5 ? 0.25 : 0));
    }
    const Interval difference = paired_difference(ours, theirs);
    const Interval single = bootstrap(ours, mean, {.resamples = 200});
    paired_width += difference.upper - difference.lower;
    single_width += single.upper - single.lower;
    return difference.lower <= 0.125 && 0.125 <= difference.upper;
  });
  EXPECT_GT(found, 0.95 - four_deviations(0.95, kRuns));  // the added pairs widen it a little
  EXPECT_LT(paired_width, 0.6 * single_width);
}

// The share of samples is computed in full: of `count` tasks each policy alone solves some, by a
// trinomial, for whose every outcome the interval is known.
TEST(Intervals, PairedIntervalsHoldTheDifferenceOfFewTasks) {
  for (const auto& [count, ours_alone, theirs_alone] :
       {std::tuple{10, 0.1, 0.1}, {10, 0.3, 0.05}, {24, 0.02, 0.01}, {24, 0.2, 0.2}}) {
    double held = 0;
    const double both = 1 - ours_alone - theirs_alone;
    for (int b = 0; b <= count; ++b) {
      for (int c = 0; b + c <= count; ++c) {
        std::vector<double> ours(static_cast<size_t>(count), 0.0), theirs = ours;
        std::fill_n(ours.begin(), b, 1.0);
        std::fill_n(theirs.begin() + b, c, 1.0);
        const Interval found = paired_difference(ours, theirs);
        const double log_probability = std::lgamma(count + 1) - std::lgamma(b + 1) -
                                       std::lgamma(c + 1) - std::lgamma(count - b - c + 1) +
                                       b * std::log(ours_alone) + c * std::log(theirs_alone) +
                                       (count - b - c) * std::log(both);
        const double truth = ours_alone - theirs_alone;
        if (found.lower <= truth && truth <= found.upper) held += std::exp(log_probability);
      }
    }
    EXPECT_GT(held, 0.93) << count << " " << ours_alone << " " << theirs_alone;
  }
}

TEST(Intervals, PairedStatisticsAreThoseOfThePairs) {
  const Interval difference = paired_difference({1, 0, 1, 1}, {0, 0, 1, 0});
  EXPECT_DOUBLE_EQ(difference.estimate, 0.5);
  // By hand: of six, the mean 2/6 and the mean of squares 3/6; 1.96 sqrt((1/2 - 1/9) / 6).
  EXPECT_NEAR(difference.lower, 1.0 / 3 - 0.4990, 1e-4);
  EXPECT_NEAR(difference.upper, 1.0 / 3 + 0.4990, 1e-4);
  // Where nothing differs: 1.96 sqrt(1/4 / 4), of four.
  const Interval same = paired_difference({0.3, 0.9}, {0.3, 0.9});
  EXPECT_EQ(same.estimate, 0);
  EXPECT_NEAR(same.upper, 0.49, 1e-4);
  EXPECT_NEAR(same.lower, -0.49, 1e-4);
  const Interval all = paired_difference({1, 1}, {0, 0});
  EXPECT_EQ(all.upper, 1);
  EXPECT_LT(all.lower, 0.5);
  // sqrt(4 * 9) / sqrt(1 * 4) = 3
  EXPECT_NEAR(paired_ratio({4, 9}, {1, 4}).estimate, 3, 1e-12);
}

TEST(Intervals, BootstrapIsTheSameForASeed) {
  const std::vector<double> values = {0.2, 0.9, 0.4, 1.7, 0.1, 0.6, 2.5};
  const auto ends = [&](uint64_t seed) {
    const Interval found = bootstrap(values, mean, {.seed = seed});
    return std::pair(found.lower, found.upper);
  };
  EXPECT_EQ(ends(5), ends(5));
  EXPECT_NE(ends(5), ends(6));
  const Interval one = bootstrap({3.0}, mean);
  EXPECT_EQ(one.lower, 3.0);
  EXPECT_EQ(one.upper, 3.0);
}

}  // namespace
}  // namespace kw
