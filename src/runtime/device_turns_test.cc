#include "runtime/device_turns.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace kw {
namespace {

using std::chrono::milliseconds;

// Many threads, each now together, now alone: the counts of who is there say whether that holds.
TEST(DeviceTurns, AloneMeansAlone) {
  DeviceTurns turns;
  std::atomic<int> together{0};
  std::vector<std::atomic<int>> alone(3);
  std::atomic<bool> wrong{false};
  const auto others = [&](size_t process) {
    int out = together;
    for (size_t i = 0; i < alone.size(); ++i) out += i == process ? 0 : alone[i].load();
    return out;
  };
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 9; ++t) {
    threads.emplace_back([&, process = t % 3] {
      for (int i = 0; i < 200; ++i) {
        if (i % 3 == 0) {
          const auto turn = turns.alone(process);
          ++alone[process];
          if (others(process) > 0) wrong = true;
          std::this_thread::yield();
          --alone[process];
        } else {
          const auto turn = turns.together();
          ++together;
          for (const auto& count : alone) wrong = wrong || count > 0;
          std::this_thread::yield();
          --together;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();  // nobody waits forever
  EXPECT_FALSE(wrong);
}

// Where others never end coming, as searches that share a device.
TEST(DeviceTurns, PatienceEnds) {
  DeviceTurns turns(milliseconds(50));
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {  // somebody is always there
    threads.emplace_back([&] {
      while (!stop) {
        const auto turn = turns.together();
        std::this_thread::sleep_for(milliseconds(5));
      }
    });
  }
  std::this_thread::sleep_for(milliseconds(20));
  const auto start = std::chrono::steady_clock::now();
  { const auto turn = turns.alone(0); }
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(5000));
  { const auto turn = turns.together(); }  // and they go on
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

// A process that always has something to time gives way to one that has waited long.
TEST(DeviceTurns, NobodyStaysAloneForever) {
  DeviceTurns turns(milliseconds(50));
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (!stop) {
        const auto turn = turns.alone(0);
        std::this_thread::sleep_for(milliseconds(5));
      }
    });
  }
  std::this_thread::sleep_for(milliseconds(20));
  const auto start = std::chrono::steady_clock::now();
  { const auto turn = turns.alone(1); }
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(5000));
  { const auto turn = turns.alone(0); }  // and the first goes on
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

// A caller that is late may not join its process's turn ahead of one that has waited longer.
TEST(DeviceTurns, NobodyPassesWhoHasWaitedLonger) {
  DeviceTurns turns(milliseconds(20));
  std::mutex mutex;
  std::vector<int> order;
  const auto note = [&](int who) {
    const std::lock_guard lock(mutex);
    order.push_back(who);
  };
  std::optional<DeviceTurns::Turn> held(std::in_place, turns.alone(0));
  std::thread other([&] {
    const auto turn = turns.alone(1);
    note(1);
  });
  std::this_thread::sleep_for(milliseconds(200));  // it has lost its patience
  std::thread late([&] {
    const auto turn = turns.alone(0);
    note(0);
  });
  std::this_thread::sleep_for(milliseconds(200));  // so has this one
  {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(order.empty());
  }
  held.reset();
  other.join();
  late.join();
  EXPECT_EQ(order, (std::vector<int>{1, 0}));
}

TEST(DeviceTurns, AllThatWaitToBeAloneAreServedBeforeOthersComeIn) {
  DeviceTurns turns;
  std::vector<int> order;  // under who is alone, or the last
  std::optional<DeviceTurns::Turn> first(std::in_place, turns.together());
  std::vector<std::thread> threads;
  for (size_t process = 0; process < 4; ++process) {
    threads.emplace_back([&, process] {
      const auto turn = turns.alone(process);
      std::this_thread::sleep_for(milliseconds(50));
      order.push_back(static_cast<int>(process));
    });
  }
  std::this_thread::sleep_for(milliseconds(1000));  // until all of them wait
  // They hold up nobody while somebody is there.
  { const auto second = turns.together(); }
  EXPECT_TRUE(order.empty());
  first.reset();
  const auto last = turns.together();
  EXPECT_EQ(order.size(), 4u);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace kw
