// Tests how long timing goes on, with a clock whose times the test sets.
#include "executor/trial/timing.h"

#include <gtest/gtest.h>

#include "executor/device/test_backend.h"

namespace kw::exec {
namespace {

constexpr int64_t kTimed = 8;

Task doubled() {
  return make_task(
      random_inputs({{kTimed}}),
      make_program({value_json("float32", {kTimed}, 0), value_json("float32", {kTimed}, 1)}, {0},
                   {step_json("aten.add.Tensor", {{"self", v(0)}, {"other", v(0)}}, {1})}, {1}));
}

// Device times are those of `times`, one after the other and again from the start.
class GivenClock : public RunClock {
 public:
  explicit GivenClock(std::vector<double> times) : times_(std::move(times)) {}
  std::vector<double> device_ms(const std::vector<TimedRun>& runs) override {
    std::vector<double> ms;
    for (const TimedRun& timed : runs) {
      timed.prepare();
      timed.run();
      ms.push_back(next());
    }
    return ms;
  }
  double wall_ms(const std::function<void()>& run) override {
    run();
    return 1;
  }

 protected:
  virtual double next() { return times_[next_++ % times_.size()]; }

 private:
  std::vector<double> times_;
  size_t next_ = 0;
};

TimeReport time_with(std::vector<double> times, double width) {
  FakeBackend backend;
  LoadedTask a(doubled(), backend), b(doubled(), backend);
  GivenClock clock(std::move(times));
  TimeRequest request;
  request.rounds = 40;
  request.width = width;
  return time_runs(backend, clock, request, {&a, &b}, {});
}

TEST(Timing, EveryRoundWithoutAWidth) {
  const TimeReport report = time_with({2}, 0);
  ASSERT_EQ(report.status, ReplyStatus::kOk) << report.message;
  EXPECT_EQ(report.device_ms[0].size(), 40u);
  EXPECT_EQ(report.wall_ms[1].size(), 40u);
  // Long runs are not repeated for that.
  const TimeReport slow = time_with({200}, 0);
  EXPECT_EQ(slow.device_ms[0].size(), 40u);
  EXPECT_TRUE(slow.wall_ms[0].empty());
}

TEST(Timing, FourRoundsThatAgreeAreEnough) {
  const TimeReport report = time_with({2}, 0.01);
  EXPECT_EQ(report.device_ms[0].size(), 4u);
  EXPECT_EQ(report.device_ms[1].size(), 4u);
  EXPECT_TRUE(report.wall_ms[0].empty());  // long runs
  EXPECT_EQ(time_with({0.5}, 0.01).wall_ms[0].size(), 1u);
}

TEST(Timing, TheFirstRoundOfShortRunsIsNotCounted) {
  const TimeReport report = time_with({0.9, 0.9, 0.5, 0.5}, 0.5);
  EXPECT_EQ(report.device_ms[0].front(), 0.5);
  EXPECT_EQ(report.device_ms[1].front(), 0.5);
  EXPECT_EQ(time_with({4, 4, 2, 2}, 0.5).device_ms[0].front(), 4);
}

// A device of 2000 MHz that slows down for rounds 5 to 9, in which everything takes twice as long.
class HotClock : public GivenClock {
 public:
  HotClock() : GivenClock({}) {}
  double next() override { return hot() ? 2 : 1; }
  double processor_mhz() override {
    const double mhz = hot() ? 1000 : 2000;
    ++round_;
    return mhz;
  }

 private:
  bool hot() const { return round_ >= 5 && round_ < 10; }
  int round_ = 0;
};

TEST(Timing, RoundsOnASlowedDownDeviceAreLeftOut) {
  FakeBackend backend;
  LoadedTask a(doubled(), backend), b(doubled(), backend);
  HotClock clock;
  TimeRequest request;
  request.rounds = 20;
  const TimeReport report = time_runs(backend, clock, request, {&a, &b}, {});
  EXPECT_EQ(report.processor_mhz.size(), 20u);
  EXPECT_EQ(report.throttled_rounds, 5);
  EXPECT_EQ(report.device_ms[0], std::vector<double>(15, 1.0));
  EXPECT_EQ(report.device_ms[1], std::vector<double>(15, 1.0));
  EXPECT_EQ(report.wall_ms[0].size(), 15u);
}

TEST(Timing, NothingIsLeftOutWithoutAClock) {
  const TimeReport report = time_with({2}, 0);
  EXPECT_TRUE(report.processor_mhz.empty());
  EXPECT_EQ(report.throttled_rounds, 0);
  EXPECT_EQ(report.device_ms[0].size(), 40u);
}

// A device that is always slow is not throttled.
class SlowClock : public GivenClock {
 public:
  SlowClock() : GivenClock({1}) {}
  double processor_mhz() override { return ++round_ % 2 ? 345 : 340; }

 private:
  int round_ = 0;
};

TEST(Timing, NothingIsLeftOutOnASteadyDevice) {
  FakeBackend backend;
  LoadedTask a(doubled(), backend), b(doubled(), backend);
  SlowClock clock;
  TimeRequest request;
  request.rounds = 20;
  const TimeReport report = time_runs(backend, clock, request, {&a, &b}, {});
  EXPECT_EQ(report.processor_mhz.size(), 20u);
  EXPECT_EQ(report.throttled_rounds, 0);
  EXPECT_EQ(report.device_ms[0].size(), 20u);
}

// Ratios are spread over some 4 %.
TEST(Timing, ANarrowerIntervalTakesMoreRounds) {
  size_t before = 4;
  for (double width : {0.2, 0.05, 0.035, 0.025, 0.02, 0.015, 0.01}) {
    const size_t rounds = time_with({2, 2.04, 2.02, 2.03, 2.01}, width).device_ms[0].size();
    EXPECT_GE(rounds, before) << width;
    if (width == 0.2) {
      EXPECT_EQ(rounds, 4u);
    }
    before = rounds;
  }
  EXPECT_GT(before, 6u);
}

TEST(Timing, GoesOnWhileTimesDisagree) {
  std::vector<double> wild;
  for (int i = 0; i < 97; ++i) wild.push_back(1 + (i * 37 % 97) / 10.0);
  EXPECT_EQ(time_with(wild, 0.01).device_ms[0].size(), 40u);
  const size_t rounds = time_with(wild, 2).device_ms[0].size();
  EXPECT_GE(rounds, 6u);
  EXPECT_LT(rounds, 40u);
}

}  // namespace
}  // namespace kw::exec
