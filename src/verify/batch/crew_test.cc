// With the real worker.
#include "verify/batch/crew.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace kw {
namespace {

// Field 4 of proc(5)'s stat, behind the name in parentheses.
std::set<pid_t> children_of(pid_t parent) {
  std::set<pid_t> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream in(entry.path() / "stat");
    std::string line;
    if (!std::getline(in, line)) continue;
    std::istringstream rest(line.substr(line.rfind(')') + 1));
    char state = 0;
    pid_t of = 0;
    if (rest >> state >> of && of == parent) out.insert(std::stoi(entry.path().filename()));
  }
  return out;
}

TEST(JudgingCrewOnProcesses, DoesAllWorkOnceWithWorkersThatStay) {
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

TEST(JudgingCrewOnProcesses, EndsAtTheFirstFailureAndGoesOnAfterwards) {
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

// All workers are copies of one; ending that one ends them all, and others are started.
TEST(JudgingCrewOnProcesses, WorkersAreReplaced) {
  JudgingCrew crew(default_worker_config(), 2);
  // Jobs that a child refused: the others were lost with their zygote.
  const auto refused = [&] {
    std::atomic<int> out{0};
    crew.run(8, [&](WorkerPool& pool, size_t) {
      Job job;
      job.request.json = {{"kind", "nothing of the sort"}};
      out += pool.run(std::move(job)).message.find("parent process") == std::string::npos;
    });
    return out.load();
  };
  EXPECT_EQ(refused(), 8);
  const std::set<pid_t> first = children_of(::getpid());
  ASSERT_EQ(first.size(), 1u);  // the original; the copies are its own
  ::kill(*first.begin(), SIGKILL);
  EXPECT_GE(refused(), 6);  // each of two threads loses the one in which it finds out
  EXPECT_EQ(refused(), 8);
  EXPECT_NE(children_of(::getpid()), first);
}

TEST(JudgingCrewOnProcesses, SaysThatAWorkerDoesNotStart) {
  WorkerConfig broken = default_worker_config();
  broken.python = "/nowhere/python3";
  JudgingCrew crew(broken, 2);
  EXPECT_ANY_THROW(crew.run(4, [](WorkerPool&, size_t) {}));
}

// As an executor has it, though in this process.
TEST(SharedZygoteOnProcesses, LendsCopiesThatAreReplacedWhenItEnds) {
  const WorkerConfig config = default_worker_config();
  SharedZygote shared(config);
  const auto refused = [](WorkerPool& pool) {
    Job job;
    job.request.json = {{"kind", "nothing of the sort"}};
    return pool.run(std::move(job)).message;
  };
  const std::string asked = "there is no job of kind";
  WorkerPool pool(config, shared.lend(STDERR_FILENO));
  WorkerPool idle(config, shared.lend(STDERR_FILENO));
  EXPECT_NE(refused(pool).find(asked), std::string::npos);
  const std::set<pid_t> lender = children_of(::getpid());
  ASSERT_EQ(lender.size(), 1u);
  ASSERT_EQ(::kill(*lender.begin(), SIGKILL), 0);
  // The copies end a moment later. Who finds out loses a job, and goes on with a zygote of its own.
  for (WorkerPool* each : {&pool, &idle}) {
    int lost = 0;
    while (lost < 3 && refused(*each).find("parent process") != std::string::npos) ++lost;
    EXPECT_LE(lost, 1);
  }
  WorkerPool next(config, shared.lend(STDERR_FILENO));  // of another
  EXPECT_NE(refused(next).find(asked), std::string::npos);
}

}  // namespace
}  // namespace kw
