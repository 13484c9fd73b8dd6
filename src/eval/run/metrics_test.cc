// Metrics against brute force over all subsets, against figures worked out by hand, and at the
// edges: no tasks, all right, none right, one answer, nothing known, speedups that are none.
#include "eval/run/metrics.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "formats/base/error.h"

namespace kw {
namespace {

AnswerOutcome wrong(const std::string& reason = "correct") {
  return {.valid = true, .compiled = true, .reason = reason};
}
AnswerOutcome right() { return {.valid = true, .compiled = true, .correct = true}; }
AnswerOutcome fast(double eager, double width = 0) {
  AnswerOutcome out = right();
  out.over_eager = Interval{eager, eager - width, eager + width};
  return out;
}
AnswerOutcome fast_of_both(double eager, double compile) {
  AnswerOutcome out = fast(eager);
  out.over_compile = Interval{compile, compile, compile};
  return out;
}
AnswerOutcome unknown() { return {.judged = false}; }

// The share of the subsets of k of n answers that hold one of the first c.
double by_subsets(int n, int c, int k) {
  int all = 0, with = 0;
  for (unsigned subset = 0; subset < 1u << n; ++subset) {
    if (std::popcount(subset) != k) continue;
    ++all;
    with += (subset & ((1u << c) - 1)) != 0;
  }
  return static_cast<double>(with) / all;
}

TEST(Metrics, PassAtKIsTheShareOfSubsetsThatHoldACorrectAnswer) {
  for (int n = 1; n <= 10; ++n) {
    for (int c = 0; c <= n; ++c) {
      for (int k = 1; k <= n; ++k) {
        EXPECT_NEAR(pass_at_k(n, c, k), by_subsets(n, c, k), 1e-12) << n << " " << c << " " << k;
      }
    }
  }
}

TEST(Metrics, PassAtKOfManyAnswersDoesNotOverflow) {
  EXPECT_NEAR(pass_at_k(100000, 50000, 1), 0.5, 1e-9);
  EXPECT_NEAR(pass_at_k(100000, 1, 1000), 0.01, 1e-9);  // k/n: one answer is among those drawn
  EXPECT_EQ(pass_at_k(1000, 1000, 500), 1);
  EXPECT_EQ(pass_at_k(1000, 0, 500), 0);
}

TEST(Metrics, PassAtKIsAveragedOverTasks) {
  const std::vector<TaskAnswers> tasks = {{"a", {right(), wrong(), wrong(), wrong()}},
                                          {"b", {right(), right(), right(), right()}},
                                          {"c", {wrong(), wrong(), wrong(), wrong()}}};
  const Metrics found = measure(tasks, {.pass_at = {1, 2, 4, 5}});
  EXPECT_NEAR(found.pass_at.at(1)->value, (0.25 + 1 + 0) / 3, 1e-12);
  EXPECT_NEAR(found.pass_at.at(2)->value, (0.5 + 1 + 0) / 3, 1e-12);  // 3 of 6 pairs hold the one
  EXPECT_NEAR(found.pass_at.at(4)->value, 2.0 / 3, 1e-12);
  EXPECT_FALSE(found.pass_at.at(5));
  EXPECT_NEAR(found.solved->value, 2.0 / 3, 1e-12);
}

// Not 0: a task with too few answers says nothing of pass@k. What was refused is 0 for any k.
TEST(Metrics, WhatIsNotKnownIsLeftOutAndCounted) {
  const std::vector<TaskAnswers> tasks = {{"few", {right()}},
                                          {"enough", {right(), wrong(), unknown()}},
                                          {"refused", {}},
                                          {"not judged", {unknown(), wrong()}}};
  const Metrics found = measure(tasks, {.pass_at = {1, 2, 3}});
  EXPECT_EQ(found.tasks, 4u);
  EXPECT_EQ(found.refused, 1u);
  EXPECT_EQ(found.not_judged, 1u);
  EXPECT_EQ(found.answers, 4u);
  EXPECT_EQ(found.correct, 2u);
  EXPECT_NEAR(found.pass_at.at(1)->value, (1 + 0.5 + 0 + 0) / 4, 1e-12);
  EXPECT_NEAR(found.pass_at.at(2)->value, (1.0 + 0) / 2, 1e-12);  // "enough" and "refused"
  EXPECT_EQ(found.pass_at.at(2)->tasks, 2u);
  EXPECT_EQ(found.pass_at.at(2)->left_out, 2u);
  EXPECT_FALSE(found.pass_at.at(3));  // "refused" alone says nothing of it
  EXPECT_NEAR(found.solved->value, 2.0 / 3, 1e-12);
  EXPECT_EQ(found.solved->left_out, 1u);
}

TEST(Metrics, APolicyThatRefusesAllSolvesNone) {
  const Metrics found = measure({{"a", {}}, {"b", {}}}, {.pass_at = {1, 7}});
  EXPECT_EQ(found.pass_at.at(1)->value, 0);
  EXPECT_EQ(found.pass_at.at(7)->value, 0);
  EXPECT_EQ(found.solved->value, 0);
}

TEST(Metrics, PassAtKIsNotDefinedWhereAnswersAreLeftOut) {
  const std::vector<TaskAnswers> tasks = {{"a", {wrong(), fast(2)}}, {"b", {fast(3)}}};
  for (const auto judged :
       {MetricsOptions::Judged::kUntilCorrect, MetricsOptions::Judged::kFastest}) {
    const Metrics found = measure(tasks, {.judged = judged});
    EXPECT_FALSE(found.pass_at.at(1));
    EXPECT_TRUE(to_json(found).at("pass_at").is_null());
    EXPECT_EQ(found.solved->value, 1);
    EXPECT_EQ(found.eager->fast_first.empty(), judged == MetricsOptions::Judged::kFastest);
  }
}

std::vector<TaskAnswers> timed() {
  return {{"a", {fast_of_both(1.2, 0.9), fast_of_both(4, 3)}},
          {"b", {fast_of_both(0.5, 0.25), wrong()}},
          {"c", {wrong("compile"), fast_of_both(2, 1.6)}},
          {"d", {wrong(), wrong()}},
          {"e", {}}};
}

TEST(Metrics, FastPCountsAllTasks) {
  const Metrics found = measure(timed());
  const auto& best = found.eager->fast_best;  // 4, 0.5, 2, -, -
  EXPECT_DOUBLE_EQ(best.at(1).value, 0.4);
  EXPECT_DOUBLE_EQ(best.at(1.5).value, 0.4);
  EXPECT_DOUBLE_EQ(best.at(2).value, 0.2);      // more than 2, not 2 itself
  const auto& first = found.eager->fast_first;  // 1.2, 0.5, -, -, -
  EXPECT_DOUBLE_EQ(first.at(1).value, 0.2);
  EXPECT_DOUBLE_EQ(first.at(1.5).value, 0);
  const auto& compile = found.compile->fast_best;  // 3, 0.25, 1.6, -, -
  EXPECT_DOUBLE_EQ(compile.at(1.5).value, 0.4);
  EXPECT_DOUBLE_EQ(compile.at(2).value, 0.2);
}

TEST(Metrics, MeansOfSpeedups) {
  const Metrics found = measure(timed());
  EXPECT_NEAR(found.eager->geometric_mean_right->value, std::cbrt(4.0), 1e-12);  // 4 * 0.5 * 2
  EXPECT_NEAR(found.eager->geometric_mean_all->value, std::pow(4.0, 0.2), 1e-12);
  EXPECT_DOUBLE_EQ(found.eager->median_right->value, 2);
  EXPECT_NEAR(found.compile->geometric_mean_right->value, std::cbrt(3 * 0.25 * 1.6), 1e-12);
  EXPECT_EQ(found.eager->geometric_mean_right->tasks, 3u);
  EXPECT_EQ(found.eager->geometric_mean_all->tasks, 5u);
}

TEST(Metrics, ASpeedupCountsByItsLowerEndUnlessTheEstimateIsAskedFor) {
  const std::vector<TaskAnswers> tasks = {{"a", {fast(1.1, 0.2)}}, {"b", {fast(1.5, 0.1)}}};
  EXPECT_DOUBLE_EQ(measure(tasks).eager->fast_best.at(1).value, 0.5);
  const Metrics published = measure(tasks, {.count = MetricsOptions::Count::kEstimate});
  EXPECT_DOUBLE_EQ(published.eager->fast_best.at(1).value, 1);
  EXPECT_DOUBLE_EQ(published.eager->fast_best.at(1.5).value, 0);
}

TEST(Metrics, WithoutTimesThereAreNoSpeedups) {
  const Metrics found = measure({{"a", {right()}}, {"b", {wrong()}}});
  EXPECT_FALSE(found.eager);
  EXPECT_FALSE(found.compile);
  // Some are timed: the others are not known. "wrong" is: no time would make it fast.
  const Metrics some = measure({{"a", {right()}}, {"b", {fast(3)}}, {"wrong", {wrong()}}});
  EXPECT_DOUBLE_EQ(some.eager->fast_best.at(1).value, 0.5);
  EXPECT_EQ(some.eager->fast_best.at(1).left_out, 1u);
  EXPECT_EQ(some.eager->geometric_mean_right->left_out, 1u);
}

TEST(Metrics, NoTasks) {
  const Metrics found = measure({});
  EXPECT_EQ(found.tasks, 0u);
  EXPECT_FALSE(found.solved);
  EXPECT_FALSE(found.pass_at.at(1));
  EXPECT_FALSE(found.eager);
  EXPECT_TRUE(to_json(found).at("solved").is_null());
}

// Wilson's ends for 10 of 10: 1 / (1 + z^2 / 10) = 0.7225.
TEST(Metrics, AllRightAndNoneRightHaveIntervals) {
  const std::vector<TaskAnswers> all(10, {"t", {fast(2)}}), none(10, {"t", {wrong()}});
  const Metrics good = measure(all), bad = measure(none);
  for (const Estimate& e : {*good.solved, *good.pass_at.at(1), good.eager->fast_best.at(1)}) {
    EXPECT_EQ(e.value, 1);
    EXPECT_NEAR(e.interval->lower, 0.7225, 5e-5);
    EXPECT_EQ(e.interval->upper, 1);
  }
  for (const Estimate& e : {*bad.solved, *bad.pass_at.at(1), bad.eager->fast_best.at(1)}) {
    EXPECT_EQ(e.value, 0);
    EXPECT_EQ(e.interval->lower, 0);
    EXPECT_NEAR(e.interval->upper, 1 - 0.7225, 5e-5);
  }
  EXPECT_FALSE(bad.eager->geometric_mean_right);
  EXPECT_FALSE(bad.eager->median_right);
  EXPECT_DOUBLE_EQ(bad.eager->geometric_mean_all->value, 1);
}

TEST(Metrics, OneAnswerToOneTask) {
  const Metrics found = measure({{"a", {fast(2)}}});
  EXPECT_EQ(found.pass_at.at(1)->value, 1);
  EXPECT_EQ(found.eager->geometric_mean_right->value, 2);
  EXPECT_FALSE(found.eager->geometric_mean_right->interval);
  EXPECT_TRUE(to_json(found).at("eager").at("median_right").at("lower").is_null());
}

TEST(Metrics, SpeedupsThatAreNoneAreRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {nan, infinity, -infinity, 0.0, -1.0}) {
    AnswerOutcome answer = fast(bad);
    EXPECT_THROW(measure({{"a", {answer}}}), InputError) << bad;
    answer.over_eager = std::nullopt;
    answer.over_compile = Interval{bad, 1, 1};
    EXPECT_THROW(measure({{"a", {answer}}}), InputError) << bad;
    answer.correct = false;  // then nobody looks
    EXPECT_EQ(measure({{"a", {answer}}}).correct, 0u);
  }
  AnswerOutcome wide = fast(2);
  wide.over_eager->lower = 0;  // of three rounds that differ widely
  EXPECT_EQ(measure({{"a", {wide}}}).eager->fast_best.at(1).value, 0);
  wide.over_eager->upper = infinity;
  EXPECT_THROW(measure({{"a", {wide}}}), InputError);
  EXPECT_THROW(measure({}, {.pass_at = {0}}), InputError);
}

TEST(Metrics, AnswersAreCountedByStageAndReason) {
  AnswerOutcome unread = {.reason = "load"};
  AnswerOutcome uncompiled = {.valid = true, .reason = "compile"};
  const Metrics found = measure({{"a", {unread, uncompiled, right()}}, {"b", {uncompiled}}});
  EXPECT_EQ(found.answers, 4u);
  EXPECT_EQ(found.valid, 3u);
  EXPECT_EQ(found.compiled, 1u);
  EXPECT_EQ(found.correct, 1u);
  EXPECT_EQ(found.reasons, (std::map<std::string, size_t>{{"compile", 2}, {"load", 1}}));
}

TEST(Metrics, DegenerateTasksAndSharesOfTriton) {
  const auto right_by = [](double share, bool degenerate) {
    AnswerOutcome out = right();
    out.share = share, out.degenerate = degenerate;
    return out;
  };
  AnswerOutcome wrong_share = wrong();
  wrong_share.share = 0.1;  // of what is wrong nothing is said
  const Metrics found = measure({{"a", {right_by(1, false), right_by(0.5, false), wrong_share}},
                                 {"b", {right_by(0.25, true)}},
                                 {"c", {wrong()}},
                                 {"d", {right()}}});
  EXPECT_DOUBLE_EQ(found.solved->value, 0.75);
  EXPECT_EQ(found.degenerate, 1u);
  EXPECT_DOUBLE_EQ(found.solved_others->value, 2.0 / 3);
  EXPECT_DOUBLE_EQ(found.share->value, (0.75 + 0.25) / 2);
  EXPECT_EQ(found.share->left_out, 1u);  // "d", whose share is not known
}

TEST(Metrics, WhatKernelBenchsRuleWouldPass) {
  AnswerOutcome near = wrong(), both = right(), hidden = unknown();
  near.allclose = both.allclose = hidden.allclose = true;
  const Metrics found =
      measure({{"a", {near, near, wrong()}}, {"b", {both}}, {"c", {wrong()}}, {"d", {hidden}}});
  EXPECT_EQ(found.allclose, 3u);
  EXPECT_EQ(found.allclose_not_correct, 2u);
  EXPECT_DOUBLE_EQ(found.solved_allclose->value, 2.0 / 3);
  EXPECT_EQ(found.solved_allclose->left_out, 1u);
  EXPECT_DOUBLE_EQ(found.solved->value, 1.0 / 3);
}

TEST(Metrics, TheOrderOfTasksChangesNothing) {
  std::vector<TaskAnswers> tasks;
  for (int i = 0; i < 30; ++i) {
    tasks.push_back({"t" + std::to_string(i), {fast(0.5 + i % 7), i % 3 ? wrong() : right()}});
  }
  const Json found = to_json(measure(tasks));
  std::reverse(tasks.begin(), tasks.end());
  EXPECT_EQ(to_json(measure(tasks)), found);
}

TEST(Metrics, PoliciesAreComparedTaskByTask) {
  std::vector<TaskAnswers> ours = timed(), theirs = timed();
  std::reverse(theirs.begin(), theirs.end());
  const PolicyComparison same = compare(ours, theirs, {.pass_at = {1, 2}});
  EXPECT_EQ(same.solved->value, 0);
  EXPECT_EQ(same.pass_at.at(2)->value, 0);
  EXPECT_NEAR(same.pass_at.at(2)->interval->upper, 1.959964 / 7, 1e-6);  // of five tasks, and two
  EXPECT_NEAR(same.speedup->value, 1, 1e-12);

  ours[3].answers = {fast(8), wrong()};  // "d", that was not solved
  const PolicyComparison better = compare(ours, theirs);
  EXPECT_NEAR(better.solved->value, 0.2, 1e-12);
  EXPECT_NEAR(better.pass_at.at(1)->value, 0.1, 1e-12);
  EXPECT_NEAR(better.fast_best.at(2).value, 0.2, 1e-12);
  EXPECT_NEAR(better.speedup->value, std::pow(8.0, 0.2), 1e-12);
  EXPECT_LE(better.speedup->interval->lower, 1 + 1e-12);
  EXPECT_NEAR(to_json(better).at("solved").at("value").get<double>(), 0.2, 1e-12);

  ours[0].answers = {unknown()};
  EXPECT_EQ(compare(ours, theirs).solved->left_out, 1u);
  theirs.pop_back();
  EXPECT_THROW(compare(ours, theirs), InputError);
  EXPECT_THROW(compare(theirs, ours), InputError);
  EXPECT_THROW(compare({{"a", {}}, {"a", {}}}, {{"a", {}}}), InputError);
}

TEST(Metrics, AsJson) {
  const Json found = to_json(measure(timed(), {.pass_at = {1, 2}}));
  EXPECT_EQ(found.at("judged"), "all");
  EXPECT_EQ(found.at("tasks"), 5);
  EXPECT_EQ(found.at("pass_at").at("2").at("tasks"), 5);
  EXPECT_DOUBLE_EQ(found.at("eager").at("fast_p_best").at("1.5").at("value"), 0.4);
  EXPECT_DOUBLE_EQ(found.at("compile").at("fast_p_first").at("1").at("value"), 0);
}

}  // namespace
}  // namespace kw
