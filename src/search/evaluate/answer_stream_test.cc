#include "search/evaluate/answer_stream.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "policy/test_fragment.h"

namespace kw {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Gives so many answers to a question, by its seed, at once; the others when it is told to, or
// never.
class Slow : public Policy {
 public:
  std::map<uint64_t, int> at_once_by_seed;
  std::atomic<bool> all = false;
  std::atomic<int> given_up = 0;

  std::string name() const override { return "slow"; }
  int at_once() const override { return 100; }
  std::vector<Proposal> propose(const Task&, const DeviceProfile&, int, uint64_t,
                                Clock::time_point) override {
    throw std::logic_error("asked for all of them");
  }
  void propose_each(const Task&, const DeviceProfile&, int count, uint64_t seed,
                    Clock::time_point deadline, const std::function<void(Proposal)>& take,
                    const std::function<bool()>& wanted) override {
    for (int i = 0; i < count; ++i) {
      while (i >= at_once_by_seed.at(seed) && !all && wanted() && Clock::now() < deadline) {
        std::this_thread::sleep_for(milliseconds(1));
      }
      if (!wanted() || Clock::now() >= deadline) {
        ++given_up;
        return;
      }
      Proposal one;
      one.drawn = true;
      one.source = std::to_string(seed) + "." + std::to_string(i);
      take(std::move(one));
    }
  }
};

class Streaming : public ::testing::Test {
 protected:
  std::vector<AnswerStream::Question> questions(const std::vector<int>& counts) {
    std::vector<AnswerStream::Question> out;
    for (size_t i = 0; i < counts.size(); ++i) out.push_back({task_, counts[i], i});
    return out;
  }
  static void collect(AnswerStream& stream, bool wait, std::multiset<std::string>& out) {
    for (const auto& [question, one] : stream.next(wait)) {
      EXPECT_EQ(one.source.substr(0, 1), std::to_string(question));
      out.insert(one.source);
    }
  }
  // Until no more come.
  static std::multiset<std::string> rest(AnswerStream& stream) {
    std::multiset<std::string> out;
    for (size_t before = 1; before != out.size();) {
      before = out.size();
      collect(stream, true, out);
      if (out.empty()) break;
    }
    return out;
  }

  const Task task_ = teacher::softmax_task(4, 8);
  const std::atomic<bool> never_ = false;
  SearchLimit limit_ = {Clock::now() + seconds(60), never_};
  Slow policy_;
};

TEST_F(Streaming, WhatIsThereIsHandedOnWhileTheRestIsWritten) {
  policy_.at_once_by_seed = {{0, 0}, {1, 1}};
  AnswerStream stream(policy_, teacher::profile(), questions({2, 3}), limit_);
  std::multiset<std::string> found;
  while (found.empty()) collect(stream, true, found);
  EXPECT_EQ(found, (std::multiset<std::string>{"1.0"}));
  collect(stream, false, found);  // does not wait
  EXPECT_EQ(found.size(), 1u);
  policy_.all = true;
  EXPECT_EQ(rest(stream), (std::multiset<std::string>{"0.0", "0.1", "1.1", "1.2"}));
  EXPECT_EQ(stream.left_out(0), 0);
  EXPECT_EQ(stream.left_out(1), 0);
}

TEST_F(Streaming, WhatIsClosedIsNotWaitedFor) {
  policy_.at_once_by_seed = {{0, 1}, {1, 0}};
  AnswerStream stream(policy_, teacher::profile(), questions({5, 5}), limit_);
  std::multiset<std::string> found;
  while (found.empty()) collect(stream, true, found);
  stream.close(0);
  stream.close(0);  // nothing more
  stream.close(1);
  EXPECT_TRUE(stream.next(true).empty());
  EXPECT_EQ(policy_.given_up, 2);
}

TEST_F(Streaming, RunawaysAreNotWaitedFor) {
  policy_.at_once_by_seed = {{0, 3}, {1, 2}};  // one is missing of each
  const Clock::time_point begin = Clock::now();
  AnswerStream stream(policy_, teacher::profile(), questions({4, 3}), limit_);
  EXPECT_EQ(rest(stream).size(), 5u);
  EXPECT_GT(Clock::now() - begin, milliseconds(900));
  EXPECT_LT(Clock::now() - begin, seconds(30));
  EXPECT_EQ(stream.left_out(0), 1);
  EXPECT_EQ(stream.left_out(1), 1);
}

TEST_F(Streaming, NobodyIsARunawayBeforeHalfOfTheOthersHaveCome) {
  policy_.at_once_by_seed = {{0, 1}, {1, 0}, {2, 0}, {3, 4}, {4, 1}};
  AnswerStream stream(policy_, teacher::profile(), questions({1, 1, 1, 4, 4}), limit_);
  std::multiset<std::string> found;
  while (found.size() < 6) collect(stream, true, found);
  std::this_thread::sleep_for(milliseconds(1200));
  EXPECT_EQ(policy_.given_up, 0);
  // Half of those to single questions have come where another of them is not wanted.
  stream.close(1);
  stream.close(4);
  EXPECT_TRUE(stream.next(true).empty());
  EXPECT_EQ(stream.left_out(2), 1);
}

// Refusals, and what others than models say, come at once.
TEST_F(Streaming, WhatIsNotDrawnSaysNothingOfRunaways) {
  class Mixed : public Slow {
    void propose_each(const Task& task, const DeviceProfile& profile, int count, uint64_t seed,
                      Clock::time_point deadline, const std::function<void(Proposal)>& take,
                      const std::function<bool()>& wanted) override {
      if (seed == 1) return Slow::propose_each(task, profile, 1, seed, deadline, take, wanted);
      Proposal refused;
      refused.drawn = refused.unanswered = seed == 0;
      refused.source = std::to_string(seed);
      take(std::move(refused));
      if (count > 1) Slow::propose_each(task, profile, count - 1, seed, deadline, take, wanted);
    }
  } policy;
  policy.at_once_by_seed = {{1, 0}, {2, 0}};
  AnswerStream stream(policy, teacher::profile(), questions({1, 1, 2}), limit_);
  std::multiset<std::string> found;
  while (found.size() < 2) collect(stream, true, found);
  std::this_thread::sleep_for(milliseconds(1500));
  EXPECT_EQ(policy.given_up, 0);
  policy.all = true;
  EXPECT_EQ(rest(stream).size(), 2u);
}

TEST_F(Streaming, NothingIsWaitedForBeyondTheLimit) {
  policy_.at_once_by_seed = {{0, 0}};
  limit_.end = Clock::now() + milliseconds(200);
  AnswerStream stream(policy_, teacher::profile(), questions({3}), limit_);
  EXPECT_TRUE(stream.next(true).empty());
  EXPECT_LT(Clock::now() - limit_.end, seconds(10));
  EXPECT_EQ(stream.left_out(0), 3);
}

TEST_F(Streaming, OneThatIsNotReadToItsEndEnds) {
  policy_.at_once_by_seed = {{0, 0}, {1, 1}};
  { const AnswerStream stream(policy_, teacher::profile(), questions({3, 2}), limit_); }
  EXPECT_EQ(policy_.given_up, 2);
}

TEST_F(Streaming, ThePolicysFaultIsThrown) {
  class Broken : public Slow {
    void propose_each(const Task& task, const DeviceProfile& profile, int count, uint64_t seed,
                      Clock::time_point deadline, const std::function<void(Proposal)>& take,
                      const std::function<bool()>& wanted) override {
      if (seed == 1) throw std::runtime_error("no server");
      Slow::propose_each(task, profile, count, seed, deadline, take, wanted);
    }
  } policy;
  policy.at_once_by_seed = {{0, 0}};
  AnswerStream stream(policy, teacher::profile(), questions({1, 1}), limit_);
  EXPECT_THROW(while (!stream.next(true).empty()){}, std::runtime_error);
}

TEST_F(Streaming, APolicyThatWritesNothingLeavesNothingOut) {
  class Mute : public Slow {
    void propose_each(const Task&, const DeviceProfile&, int, uint64_t, Clock::time_point,
                      const std::function<void(Proposal)>&, const std::function<bool()>&) override {
    }
  } policy;
  AnswerStream stream(policy, teacher::profile(), questions({4, 4}), limit_);
  EXPECT_TRUE(stream.next(true).empty());
  EXPECT_EQ(stream.left_out(0), 0);
}

}  // namespace
}  // namespace kw
