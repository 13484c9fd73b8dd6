#include "verify/verdict/call_times.h"

#include <gtest/gtest.h>

#include "formats/base/error.h"

namespace kw {
namespace {

CallTimes some_times() {
  CallTimes times;
  times.times["eager"] = {4e-3, 5e-3, 1e-3, 1};
  times.times["compile"] = {5e-3, 5e-3, 1e-3, 0.8};
  times.times["reduce_overhead"] = {2e-3, 3e-3, 1e-4, 2};
  times.times["launches"] = {8e-3, 9e-3, 1e-3, 0.5};
  times.times["called"] = {1e-3, 2e-3, 1e-4, 4};
  times.by_graph = true;
  times.absent["graph"] = "out of memory";
  return times;
}

TEST(CallTimes, TheBestOtherIsThePeer) {
  CallTimes times = some_times();
  EXPECT_EQ(times.best_other(), "reduce_overhead");
  EXPECT_DOUBLE_EQ(times.over_best(), 2);
  times.times.erase("reduce_overhead");
  EXPECT_EQ(times.best_other(), "eager");
  EXPECT_DOUBLE_EQ(times.over_best(), 4);
  times.times.erase("called");
  EXPECT_EQ(times.over_best(), 0);
  EXPECT_EQ(CallTimes().best_other(), "");
  EXPECT_EQ(CallTimes().over_best(), 0);
}

TEST(CallTimes, NoGainIsKnownFromTimesAlone) {
  CallTimes times = some_times();
  EXPECT_FALSE(times.is_no_gain()) << "four times as fast as eager";
  times.times["called"].over_eager = 1;
  EXPECT_TRUE(times.is_no_gain());
  times.times.erase("called");
  EXPECT_FALSE(times.is_no_gain());
}

TEST(CallTimes, JsonKeepsThem) {
  const Json json = to_json(some_times());
  EXPECT_EQ(to_json(call_times_from_json(JsonReader(json, "times"))), json);
  const Json wrong = {{"times", 5}};
  EXPECT_THROW(call_times_from_json(JsonReader(wrong, "times")), InputError);
}

TEST(CallTimes, OneLineForPeople) {
  EXPECT_EQ(
      call_times_text(some_times()),
      "as Python calls it: 2.00x of torch.compile (reduce-overhead) (1.000 ms, by a CUDA graph)");
  CallTimes times;
  times.fault = "killed";
  EXPECT_EQ(call_times_text(times), "not timed as Python calls it: killed");
  times.fault = "";
  times.absent["called"] = "ValueError: x";
  EXPECT_EQ(call_times_text(times), "not timed as Python calls it: ValueError: x");
}

}  // namespace
}  // namespace kw
