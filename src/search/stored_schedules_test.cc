#include "search/stored_schedules.h"

#include <gtest/gtest.h>

#include "worker/test_folder.h"

namespace kw {
namespace {

class Stored : public ::testing::Test {
 protected:
  std::vector<std::string> names(ScheduleMemory& memory, const std::string& shape = "c") {
    std::vector<std::string> out;
    for (const auto& fast : memory.fastest("reduction", shape)) out.push_back(fast.name);
    return out;
  }
  TestFolder folder_;
  Store store_{std::filesystem::path(folder_.path()) / "store.sqlite"};
  const Json machine_ = {{"device", "one"}, {"triton", "3.6.0"}};
};

TEST_F(Stored, KnowsNothingAtFirst) {
  StoredSchedules memory(store_, machine_);
  EXPECT_TRUE(names(memory).empty());
}

TEST_F(Stored, OutlivesItsOwnerAndIsTheMachinesOwn) {
  StoredSchedules(store_, machine_).learn("reduction", "c", {{"slow", 1.4}, {"fast", 1.0}});
  StoredSchedules again(store_, machine_), other(store_, {{"device", "two"}});
  EXPECT_EQ(names(again), (std::vector<std::string>{"fast", "slow"}));
  EXPECT_TRUE(names(again, "another class").empty());
  EXPECT_TRUE(names(other).empty());
}

TEST_F(Stored, NewerRatiosReplaceOlderOnesAndAFewAreKept) {
  StoredSchedules memory(store_, machine_);
  memory.learn("reduction", "c", {{"a", 1.0}, {"b", 1.1}, {"c", 1.2}});
  memory.learn("reduction", "c", {{"a", 2.0}, {"d", 1.0}, {"e", 1.05}});
  EXPECT_EQ(names(memory), (std::vector<std::string>{"d", "e", "b", "c"}));
  EXPECT_DOUBLE_EQ(memory.fastest("reduction", "c").at(2).ratio, 1.1);
}

}  // namespace
}  // namespace kw
