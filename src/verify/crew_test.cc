// With the real worker.
#include "verify/crew.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <stdexcept>

namespace kw {
namespace {

TEST(JudgingCrew, DoesAllWorkOnceWithWorkersThatStay) {
  JudgingCrew crew(default_worker_config(), 2);
  EXPECT_EQ(crew.size(), 2);
  crew.run(0, [](WorkerPool&, size_t) { FAIL(); });
  std::mutex mutex;
  std::set<WorkerPool*> pools;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::atomic<int>> done(50);
    crew.run(done.size(), [&](WorkerPool& pool, size_t i) {
      ++done[i];
      const std::lock_guard lock(mutex);
      pools.insert(&pool);
    });
    for (const auto& each : done) EXPECT_EQ(each, 1);
  }
  EXPECT_LE(pools.size(), 2u);  // the same in each round
}

TEST(JudgingCrew, EndsAtTheFirstFailureAndGoesOnAfterwards) {
  JudgingCrew crew(default_worker_config(), 1);
  std::vector<size_t> begun;
  EXPECT_THROW(crew.run(10,
                        [&](WorkerPool&, size_t i) {
                          begun.push_back(i);
                          if (i == 3) throw std::runtime_error("broken");
                        }),
               std::runtime_error);
  EXPECT_EQ(begun, (std::vector<size_t>{0, 1, 2, 3}));
  std::atomic<int> after{0};
  crew.run(5, [&](WorkerPool&, size_t) { ++after; });
  EXPECT_EQ(after, 5);
}

TEST(JudgingCrew, SaysThatAWorkerDoesNotStart) {
  WorkerConfig broken = default_worker_config();
  broken.python = "/nowhere/python3";
  JudgingCrew crew(broken, 2);
  EXPECT_ANY_THROW(crew.run(4, [](WorkerPool&, size_t) {}));
}

}  // namespace
}  // namespace kw
