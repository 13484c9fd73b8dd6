#include "search/cover/cover_search.h"

#include <random>

#include "search/cover/cover.h"
#include "search/cover/fragments.h"
#include "search/cover/step_timer.h"
#include "search/form/test_form.h"

namespace kw {
namespace {

// What fragments of a program would take, and what a policy thinks: one family is guessed well, the
// other seldom gains anything, its first schedules are poor and its guesses far too kind.
class World : public Policy, public Evaluator {
 public:
  struct Truth {
    double guess = 0, shallow = 0, deep = 0;  // seconds
    bool kind = false;
  };
  static constexpr int kDeep = 16;

  // Kernels take `slow` times as long as they do in other worlds.
  World(const Task& task, uint64_t seed, double slow = 1) {
    std::mt19937_64 random(seed);
    auto between = [&](double a, double b) {
      return std::uniform_real_distribution<double>(a, b)(random);
    };
    for (const auto& steps : enumerate_fragments(task, {.max_steps = 1})) {
      eager_[steps[0]] = 1e-6 * between(5, 50);
    }
    for (const auto& steps : enumerate_fragments(task, {})) {
      double eager = 0;
      for (int i : steps) eager += eager_.at(i);
      Truth& truth = truths_[steps];
      truth.kind = std::any_of(steps.begin(), steps.end(), [](int i) { return i % 3 == 0; });
      truth.deep =
          slow * eager * between(truth.kind ? 0.8 : 0.4, 1.3) / (steps.size() > 1 ? 1.5 : 1);
      truth.shallow = truth.deep * (truth.kind ? between(1.0, 1.6) : between(1.0, 1.05));
      truth.guess = truth.deep * (truth.kind ? 0.3 : between(0.85, 1.15));
      names_[canonical_hash(cut(task, steps).task)] = steps;
    }
  }

  std::string name() const override { return "world"; }
  std::vector<Proposal> propose(const Task& task, const DeviceProfile&, int, uint64_t,
                                std::chrono::steady_clock::time_point) override {
    const Truth& truth = truths_.at(names_.at(canonical_hash(task)));
    Proposal out;
    out.family = truth.kind ? "kind" : "plain";
    out.model_seconds = truth.guess * pessimism;
    return {out};
  }
  std::vector<EvaluationResult> evaluate(const std::vector<EvaluationRequest>& requests,
                                         const SearchLimit&) override {
    std::vector<EvaluationResult> out;
    for (const EvaluationRequest& one : requests) {
      const Truth& truth = truths_.at(one.fragment.steps);
      EvaluationResult found;
      found.attempts.resize(1);
      found.attempts[0].reason = "wrong";
      if (cuts > 0) {
        found.cut_short = true;
        out.push_back(std::move(found));
        continue;
      }
      const Effort& effort = one.effort;
      const bool never = std::count(one.fragment.steps.begin(), one.fragment.steps.end(), without);
      if (!rejects && !never && effort.proposals >= right_from && effort.seed >= right_seed) {
        found.best = one.fragment.task;
      }
      for (int i : one.fragment.steps) found.eager_seconds += eager_.at(i);
      found.eager_seconds += slower;
      found.seconds = effort.proposals >= kDeep ? truth.deep : truth.shallow;
      tried += effort.proposals;
      timed += !effort.any_right;
      out.push_back(std::move(found));
    }
    --cuts;
    return out;
  }
  bool measures() const override { return true; }
  int threads() const override { return kDeep; }
  int at_once() const override { return draws ? 8 : 1; }

  const std::map<int, double>& eager() const { return eager_; }
  double total() const {
    double out = 0;
    for (const auto& [step, seconds] : eager_) out += seconds;
    return out;
  }
  // What a cover really takes beside PyTorch's other steps.
  double seconds(const std::vector<Replacement>& cover) const {
    double out = total();
    for (const Replacement& one : cover) {
      out += truths_.at(one.fragment.steps).deep;
      for (int i : one.fragment.steps) out -= eager_.at(i);
    }
    return out;
  }
  // The best cover when everything is known, PyTorch's steps so many seconds slower.
  double best(const Task& task, double slower = 0) const {
    std::vector<double> singles(task.forward.steps.size());
    for (const auto& [step, seconds] : eager_) singles[step] = seconds + slower;
    std::vector<CoverOption> options;
    for (const auto& [steps, truth] : truths_) options.push_back({steps, truth.deep});
    return best_cover(step_dependencies(task.forward, task.kernels), singles, options).seconds;
  }
  size_t fragments() const { return truths_.size(); }

  double pessimism = 1;  // guesses are so many times what they would be
  int tried = 0, timed = 0;
  int cuts = 0;             // calls of evaluate() that the limit cuts
  bool rejects = false;     // everything is wrong
  int right_from = 0;       // of so many proposals one is right, of fewer none
  uint64_t right_seed = 0;  // nor of those by lower seeds
  int without = -1;         // a step that nothing is right for
  double slower =
      0;  // PyTorch takes that much more in each fragment than its steps were thought to
  bool draws = false;  // its answers, as models do

 private:
  std::map<int, double> eager_;
  std::map<std::vector<int>, Truth> truths_;
  std::map<std::string, std::vector<int>> names_;
};

class SearchingOnProcesses : public FormTest {
 protected:
  // Two branches that meet; every step differs from every other.
  void SetUp() override {
    prepare(model("",
                  "        y = torch.relu(x * 1.5) + 0.25\n"
                  "        a = torch.sin(y * 2.5) * 3.5\n"
                  "        b = torch.cos(y + 4.5) - 5.5\n"
                  "        return torch.tanh(a * b) * 6.5\n",
                  "8, 16"));
  }
  CoverSearch search(World& world) {
    return CoverSearch({reference_.task, "", {}}, world, world, slower_, machine_->profile,
                       options_, clock_, {});
  }

  FamilyBias slower_;
  OptimizeOptions options_;
  PhaseClock clock_;
  const std::atomic<bool> never_ = false;
  const SearchLimit no_limit_ = {std::chrono::steady_clock::time_point::max(), never_};
};

TEST_F(SearchingOnProcesses, FindsNearlyTheBestCoverThoughOneFamilyIsGuessedWrong) {
  double product = 1;
  double effort = 0;
  constexpr int kWorlds = 40;
  for (uint64_t seed = 0; seed < kWorlds; ++seed) {
    slower_ = {};
    World world(reference_.task, seed);
    CoverSearch found = search(world);
    found.know_steps(world.eager());
    ASSERT_TRUE(found.offer_fragments(no_limit_));
    ASSERT_TRUE(found.settle(no_limit_));
    found.refine(no_limit_);
    const double best = world.best(reference_.task);
    ASSERT_GE(found.known_seconds(), best * (1 - 1e-9));
    EXPECT_LE(found.known_seconds(), 1.25 * best) << seed;
    EXPECT_LE(found.known_seconds(), world.total() * (1 + 1e-9));
    product *= found.known_seconds() / best;
    effort += static_cast<double>(world.tried) / static_cast<double>(world.fragments());
  }
  // The bound is missed without a second look, and without minding how far guesses were off.
  EXPECT_LE(std::pow(product, 1.0 / kWorlds), 1.03);
  EXPECT_LE(effort / kWorlds, 3);  // schedules a fragment, of World::kDeep
}

TEST_F(SearchingOnProcesses, WhatIsThoughtToBeSlowIsTriedInTheEnd) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    slower_ = {};
    World world(reference_.task, seed);
    world.pessimism = 10;
    CoverSearch found = search(world);
    found.know_steps(world.eager());
    found.offer_fragments(no_limit_);
    found.settle(no_limit_);
    found.refine(no_limit_);
    EXPECT_EQ(world.tried, 0) << seed;
    EXPECT_TRUE(found.try_unlikely(no_limit_));
    EXPECT_LT(found.known_seconds(), world.total()) << seed;
  }
}

TEST_F(SearchingOnProcesses, ALimitThatIsOverEvaluatesNothing) {
  World world(reference_.task, 1);
  CoverSearch found = search(world);
  found.know_steps(world.eager());
  ASSERT_TRUE(found.offer_fragments(no_limit_));
  const SearchLimit over = {std::chrono::steady_clock::now() - std::chrono::seconds(1), never_};
  EXPECT_FALSE(found.settle(over));
  found.refine(over);
  EXPECT_EQ(world.tried, 0);
  EXPECT_DOUBLE_EQ(found.known_seconds(), world.total());
  EXPECT_TRUE(found.covers().empty());
}

TEST_F(SearchingOnProcesses, WhatALimitCutIsLookedAtAgain) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    double known[2];
    for (int cut : {0, 1}) {
      slower_ = {};
      World world(reference_.task, seed);
      world.cuts = cut;
      CoverSearch found = search(world);
      found.know_steps(world.eager());
      found.offer_fragments(no_limit_);
      found.settle(no_limit_);
      found.refine(no_limit_);
      known[cut] = found.known_seconds();
    }
    EXPECT_DOUBLE_EQ(known[0], known[1]) << seed;
  }
}

TEST_F(SearchingOnProcesses, RejectionsDoNotEndIt) {
  World world(reference_.task, 1);
  world.rejects = true;
  CoverSearch found = search(world);
  found.know_steps(world.eager());
  found.offer_fragments(no_limit_);
  EXPECT_TRUE(found.settle(no_limit_));
  found.refine(no_limit_);
  // But for those that were no promise at any optimism.
  EXPECT_GT(world.tried, static_cast<int>(world.fragments()) * options_.proposals / 2);
  EXPECT_TRUE(found.covers().empty());
}

TEST_F(SearchingOnProcesses, StepsOfNothingAreNoTrouble) {
  prepare(model("", "        return torch.relu(x) + 1\n", "0, 16"));
  // The CPU has no clock to judge by: nothing is measured, and nothing breaks.
  EXPECT_TRUE(time_steps(machine_->executor, reference_.task, {}, 1, no_limit_).empty());
}

// And what is found in the end is the same.
TEST_F(SearchingOnProcesses, WithoutPyTorchThereIsAProgramBeforeAnythingElseIsAsked) {
  options_.verify.pure = true;
  World world(reference_.task, 3);
  CoverSearch found = search(world);
  EXPECT_TRUE(found.covers().empty());
  found.begin(no_limit_);
  EXPECT_EQ(found.offered(), world.eager().size());
  const std::vector<CoverSearch::Cover> covers = found.covers();
  ASSERT_FALSE(covers.empty());
  EXPECT_EQ(covers.front().size(), world.eager().size());
  EXPECT_TRUE(found.uncovered().empty());
  EXPECT_EQ(world.timed, 0);
  EXPECT_EQ(world.tried, static_cast<int>(world.eager().size()));  // an answer each
  found.know_steps(world.eager());
  // What was not timed is worth what PyTorch takes.
  EXPECT_DOUBLE_EQ(found.seconds_of(covers.front()), world.total());
  ASSERT_TRUE(found.offer_fragments(no_limit_));
  EXPECT_EQ(found.offered(), world.fragments());  // each once
  ASSERT_TRUE(found.settle(no_limit_));

  World same(reference_.task, 3);
  slower_ = {};
  CoverSearch other = search(same);
  other.know_steps(same.eager());
  ASSERT_TRUE(other.offer_fragments(no_limit_));
  ASSERT_TRUE(other.settle(no_limit_));
  EXPECT_DOUBLE_EQ(found.known_seconds(), other.known_seconds());
}

// A model that is right once in ten answers has right kernels for all.
TEST_F(SearchingOnProcesses, WithoutPyTorchMoreAreAskedForWhereNoneIsRight) {
  World world(reference_.task, 3);
  world.right_from = options_.proposals + 1;
  for (const bool pure : {false, true}) {
    options_.verify.pure = pure;
    CoverSearch found = search(world);
    if (pure) {
      EXPECT_TRUE(found.begin(no_limit_));
    }
    EXPECT_EQ(found.covers().empty(), !pure);
    ASSERT_TRUE(found.offer_fragments(no_limit_));
    ASSERT_TRUE(found.settle(no_limit_));
    ASSERT_EQ(found.covers().empty(), !pure);
  }
  world.rejects = true;  // and there is an end to it
  CoverSearch found = search(world);
  EXPECT_FALSE(found.begin(no_limit_));
  EXPECT_FALSE(found.uncovered().empty());
  EXPECT_TRUE(found.settle(no_limit_));
  EXPECT_TRUE(found.covers().empty());
}

// What was not timed is no better than what was, however slow that is.
TEST_F(SearchingOnProcesses, WithoutPyTorchSlowKernelsAreTimedAllTheSame) {
  options_.verify.pure = true;
  double product = 1;
  constexpr int kWorlds = 20;
  for (uint64_t seed = 0; seed < kWorlds; ++seed) {
    slower_ = {};
    World world(reference_.task, seed, 2.5);
    CoverSearch found = search(world);
    ASSERT_TRUE(found.begin(no_limit_));
    found.know_steps(world.eager());
    found.offer_fragments(no_limit_);
    found.settle(no_limit_);
    found.refine(no_limit_);
    ASSERT_FALSE(found.covers().empty());
    const double really = world.seconds(found.replacements(found.covers().front()));
    product *= really / world.best(reference_.task, 1);
  }
  EXPECT_LE(std::pow(product, 1.0 / kWorlds), 1.05);
}

// However much the others save.
TEST_F(SearchingOnProcesses, WithoutPyTorchNoCoverLeavesAStep) {
  options_.verify.pure = true;
  World world(reference_.task, 3);
  world.slower = 10;
  CoverSearch all = search(world);
  all.offer_fragments(no_limit_);
  all.settle(no_limit_);
  EXPECT_FALSE(all.covers().empty());
  world.without = world.eager().begin()->first;
  CoverSearch found = search(world);
  found.offer_fragments(no_limit_);
  found.settle(no_limit_);
  EXPECT_GT(found.tried(), 1u);
  EXPECT_TRUE(found.covers().empty());
}

TEST_F(SearchingOnProcesses, WithoutPyTorchAPolicyThatDrawsIsAskedAgain) {
  options_.verify.pure = true;
  for (const bool draws : {false, true}) {
    World world(reference_.task, 3);
    world.right_seed = 4;  // one that computes its answers gives the same ones by any
    world.draws = draws;
    CoverSearch found = search(world);
    EXPECT_EQ(found.begin(no_limit_), draws);
    EXPECT_EQ(found.covers().empty(), !draws);
    EXPECT_EQ(world.timed, 0);
  }
  World world(reference_.task, 3);
  world.draws = world.rejects = true;
  CoverSearch found = search(world);
  EXPECT_FALSE(found.begin(no_limit_));
  // An end comes to it too: after some hundred answers at most for each operator.
  EXPECT_LE(world.tried, 200 * static_cast<int>(world.eager().size()));
  const SearchLimit over = {std::chrono::steady_clock::now() - std::chrono::seconds(1), never_};
  const int before = world.tried;
  EXPECT_FALSE(found.begin(over));
  EXPECT_EQ(world.tried, before);
}

TEST_F(SearchingOnProcesses, KnownStepsCountAsMeasured) {
  World world(reference_.task, 2);
  CoverSearch found = search(world);
  const auto& [step, seconds] = *world.eager().begin();
  found.know_steps({{step, seconds}});
  EXPECT_DOUBLE_EQ(found.step_seconds()[step], seconds);
  EXPECT_TRUE(found.step_measured()[step]);
  EXPECT_EQ(std::count(found.step_measured().begin(), found.step_measured().end(), true), 1);
}

}  // namespace
}  // namespace kw
