// The client against an executor that is a small Python script and behaves as the seed of the
// request tells it to. The real executor is tested in executor/.
#include "runtime/executor_client.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "formats/base/error.h"
#include "runtime/fake_frames.h"
#include "worker/test_folder.h"
#include "worker/worker_pool.h"

namespace kw {
namespace {

using std::chrono::milliseconds;

const std::string kFakeExecutor = kFakeFrames + R"(
with open(os.path.join(os.path.dirname(sys.argv[0]), "started"), "a") as started:
    print(os.getpid(), file=started)

held = b""

def answer(message, hold=False):
    global held
    held += frame(message)
    if not hold:
        sock.sendall(held)
        held = b""

def here(name):
    return os.path.join(os.path.dirname(sys.argv[0]), name)

# Whether all others that live have given memory back.
def others_released():
    pids = {pid for pid in open(here("started")).read().split()
            if pid != str(os.getpid()) and os.path.exists("/proc/" + pid)}
    return bool(pids) and all(os.path.exists(here("released-" + pid)) for pid in pids)

if os.path.exists(here("full")) and not others_released():  # cannot even start
    sys.exit("no room for a context: out of memory")

# Loads its libraries between its first answer and its second greeting's.
warming = here(f"warming-{os.getpid()}")
open(warming, "w").close()
greetings = 0

loaded = []
while True:
    request = receive()
    kind = request["kind"]
    if kind == "hello":
        greetings += 1
        if greetings == 2:
            time.sleep(0.05)
            os.remove(warming)
        answer({"status": "ok", "pid": os.getpid(), "args": sys.argv[1:]})
    elif kind == "load":
        if request["task"]["target"] == "refused":
            answer({"status": "failed", "message": "cannot load"})
            continue
        loaded.append(request["id"])
        answer({"status": "ok"})
    elif kind == "unload":
        loaded.remove(request["id"])
        answer({"status": "ok"})
    elif kind == "release":
        open(here(f"released-{os.getpid()}"), "w").close()
        answer({"status": "ok"})
    elif kind == "time" and request["seed"] == 12 and not others_released():
        answer({"status": "not-judged", "message": "out of memory"})
    elif kind == "time":
        open(here("timing"), "w").close()
        time.sleep(0.02)
        os.remove(here("timing"))
        if any(f.startswith("warming-") and os.path.exists("/proc/" + f.split("-")[1])
               for f in os.listdir(here("."))):
            answer({"status": "not-judged", "message": "somebody loads libraries"})
            continue
        series = [[1.0]] * request["seed"]
        answer({"status": "ok", "message": "", "device_ms": series, "wall_ms": series,
              "processor_mhz": [], "throttled_rounds": 0, "phases": {},
              "outputs_checked": [True] * len(series)})
    else:
        assert request["reference"] in loaded and request["candidate"] in loaded, loaded
        seed = request["seed"]
        if seed == 1:
            print("terminate called", "CUDA error", sep="\n", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if seed == 2:
            signal.pause()
        if seed == 3:
            sock.sendall(b"this is no frame at all")
            signal.pause()
        if seed == 4:
            answer({"status": "perfect"})
            continue
        if seed == 5:
            answer({"status": "died", "message": "illegal address"})
            sys.exit(17)
        if seed == 6:
            answer({"status": "not-judged", "message": "too large"})
            continue
        if seed == 9:  # until another process has such a trial too
            open(here(f"meets-{os.getpid()}"), "w").close()
            while len([f for f in os.listdir(here(".")) if f.startswith("meets-")]) < 2:
                time.sleep(0.001)
        if seed == 12 and not others_released():
            answer({"status": "not-judged", "message": "reference: out of memory"})
            continue
        if seed == 11 and not os.path.exists(here("late")):
            open(here("late"), "w").close()
            signal.pause()
        if seed == 10:
            time.sleep(0.002)
            if os.path.exists(here("timing")):
                answer({"status": "not-judged", "message": "somebody is timed"})
                continue
        if seed >= 100:
            with open(here("order"), "a") as order:
                print(request["candidate"], seed, file=order)
            time.sleep(0.02)
        while seed == 100 and not os.path.exists(here("go")):
            time.sleep(0.001)
        if seed == 7:
            os.write(2, b"noise\n" * 100000)
        flags = ["inputs_unchanged", "guards_intact", "buffers_equal",
                 "passes_zeros", "passes_stale", "no_launch_changes"]
        answer({"status": "ok", "message": "", "outputs": [], "idle_launches": loaded,
              "others_than_copies": [], "copies": [],
              "difference": "", "seconds": 0.5, "phases": {}, "peak_bytes": os.getpid(),
              **{flag: True for flag in flags}}, hold=seed == 8)  # with the next answer
)";

class ExecutorClientOnProcesses : public testing::Test {
 protected:
  ExecutorConfig config(const std::string& script = kFakeExecutor) {
    namespace fs = std::filesystem;
    ExecutorConfig config = default_executor_config("cpu");
    config.binary = folder_.write("executor", "#!" + config.python + "\n" + script);
    fs::permissions(config.binary, fs::perms::owner_all);
    return config;
  }
  static TrialRequest request(int id, uint64_t seed) { return {id, id, seed}; }
  TestFolder folder_;
};

TEST_F(ExecutorClientOnProcesses, GreetsLoadsOnDemandAndUnloads) {
  ExecutorConfig settings = config();
  settings.sandbox = false;
  ExecutorClient client(settings);
  EXPECT_EQ(client.hello()["args"],
            Json({"--socket", "3", "--backend", "cpu", "--python", settings.python, "--worker-dir",
                  settings.worker_dir, "--no-sandbox"}));
  const int a = client.load(Task()), b = client.load(Task());
  EXPECT_NE(a, b);
  TrialReport report = client.trial({a, b, 0}, milliseconds(20000));
  EXPECT_EQ(report.status, ReplyStatus::kOk) << report.message;
  EXPECT_EQ(report.idle_launches, (std::vector<int>{a, b}));
  EXPECT_EQ(report.seconds, 0.5);
  client.unload(a);
  report = client.trial(request(b, 0), milliseconds(20000));
  EXPECT_EQ(report.idle_launches, (std::vector<int>{b}));
  EXPECT_THROW(client.trial(request(a, 0), milliseconds(20000)), std::logic_error);
  EXPECT_EQ(client.restarts(), 0);
}

// The one asked for of those that are seen here, whatever their names.
TEST_F(ExecutorClientOnProcesses, SeesOneGpu) {
  const std::string script = kFakeExecutor;
  const size_t args = script.find("\"args\": ");
  ASSERT_NE(args, std::string::npos);
  ExecutorConfig settings = config(
      std::string(script).insert(args, "\"seen\": os.environ.get(\"CUDA_VISIBLE_DEVICES\"), "));
  const auto seen = [&](int gpu) {
    settings.gpu = gpu;
    return ExecutorClient(settings).hello()["seen"];
  };
  const char* before = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::string kept = before ? before : "";
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_EQ(seen(-1), Json());
  EXPECT_EQ(seen(1), "1");
  ::setenv("CUDA_VISIBLE_DEVICES", "5,GPU-3a,2", 1);
  EXPECT_EQ(seen(-1), "5,GPU-3a,2");
  EXPECT_EQ(seen(0), "5");
  EXPECT_EQ(seen(1), "GPU-3a");
  EXPECT_THROW(seen(3), InputError);
  before ? ::setenv("CUDA_VISIBLE_DEVICES", kept.c_str(), 1) : ::unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_F(ExecutorClientOnProcesses, EveryDeathIsAReportAndTheNextCallRestarts) {
  ExecutorClient client(config());
  const int id = client.load(Task());
  const std::vector<std::pair<uint64_t, std::string>> deaths = {
      {2, "in time"}, {3, "no frame"}, {4, "not valid"}, {5, "illegal address"}};
  int restarts = 0;
  for (const auto& [seed, says] : deaths) {
    const TrialReport report =
        client.trial(request(id, seed), milliseconds(seed == 2 ? 300 : 20000));
    EXPECT_EQ(report.status, ReplyStatus::kDied) << seed;
    EXPECT_NE(report.message.find(says), std::string::npos) << report.message;
    EXPECT_EQ(client.trial(request(id, 0), milliseconds(20000)).status, ReplyStatus::kOk);
    EXPECT_EQ(client.restarts(), ++restarts);
  }
}

// From the first death on the next process is there before it is wanted; one that somebody killed
// while it waited is not blamed on the request.
TEST_F(ExecutorClientOnProcesses, ASpareTakesOver) {
  ExecutorClient client(config());
  const int id = client.load(Task());
  const auto die = [&] {
    EXPECT_EQ(client.trial(request(id, 5), milliseconds(20000)).status, ReplyStatus::kDied);
  };
  const auto started = [&](size_t least) {
    std::vector<int> pids;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (pids.size() < least && std::chrono::steady_clock::now() < end) {
      std::ifstream in(folder_.path() / "started");
      pids.clear();
      for (int pid; in >> pid;) pids.push_back(pid);
      std::this_thread::yield();
    }
    return pids;
  };
  const auto serves = [&] {
    const TrialReport report = client.trial(request(id, 0), milliseconds(20000));
    EXPECT_EQ(report.status, ReplyStatus::kOk) << report.message;
    return static_cast<int>(report.peak_bytes);  // the process
  };
  std::vector<int> serving = {serves()};
  EXPECT_EQ(started(1), serving);  // no death, no spare
  for (size_t death = 1; death <= 3; ++death) {
    if (death == 3) ::kill(started(4).at(3), SIGKILL);
    die();
    serving.push_back(serves());
    started(death + 2);  // the next spare
  }
  const std::vector<int> all = started(6);
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(serving, (std::vector<int>{all[0], all[1], all[2], all[4]}));
  EXPECT_EQ(client.restarts(), 3);
  TimeRequest time;
  time.tasks = {id};
  time.seed = 1;
  EXPECT_EQ(client.time(time, milliseconds(20000)).status, ReplyStatus::kOk);
}

TEST_F(ExecutorClientOnProcesses, TrialsComeInOrderUntilThereAreEnough) {
  ExecutorClient client(config());
  const int id = client.load(Task());
  const auto statuses = [&](const std::vector<uint64_t>& seeds, size_t most) {
    std::vector<TrialRequest> requests;
    for (uint64_t seed : seeds) requests.push_back(request(id, seed));
    std::vector<ReplyStatus> out;
    client.trials(requests, milliseconds(20000), [&](size_t i, const TrialReport& report) {
      EXPECT_EQ(i, out.size());
      out.push_back(report.status);
      return out.size() < most;
    });
    return out;
  };
  using Statuses = std::vector<ReplyStatus>;
  EXPECT_EQ(statuses({0, 6, 0, 6}, 9), (Statuses{ReplyStatus::kOk, ReplyStatus::kNotJudged,
                                                 ReplyStatus::kOk, ReplyStatus::kNotJudged}));
  // One that nobody wants any more has been sent: the next call does not take its answer for its
  // own.
  EXPECT_EQ(statuses({0, 0, 6, 6, 6}, 2), (Statuses{ReplyStatus::kOk, ReplyStatus::kOk}));
  EXPECT_EQ(client.trial(request(id, 0), milliseconds(20000)).status, ReplyStatus::kOk);
  EXPECT_EQ(client.restarts(), 0);
  // Two answers at once.
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(statuses({0, 8, 6, 0}, 9), (Statuses{ReplyStatus::kOk, ReplyStatus::kOk,
                                                 ReplyStatus::kNotJudged, ReplyStatus::kOk}));
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(10000));
  EXPECT_EQ(client.restarts(), 0);
  // The executor dies with a request in its socket, which goes to the next one.
  EXPECT_EQ(statuses({0, 0, 5, 6, 0}, 9),
            (Statuses{ReplyStatus::kOk, ReplyStatus::kOk, ReplyStatus::kDied,
                      ReplyStatus::kNotJudged, ReplyStatus::kOk}));
  EXPECT_EQ(client.restarts(), 1);
  // It dies of one that nobody waits for.
  EXPECT_EQ(statuses({0, 6, 1, 0}, 2), (Statuses{ReplyStatus::kOk, ReplyStatus::kNotJudged}));
  EXPECT_EQ(client.trial(request(id, 0), milliseconds(20000)).status, ReplyStatus::kOk);
  EXPECT_EQ(client.restarts(), 2);
}

TEST_F(ExecutorClientOnProcesses, AnErrorOfTheTakerLeavesNoAnswerBehind) {
  ExecutorClient client(config());
  const int id = client.load(Task());
  const std::vector<TrialRequest> requests = {request(id, 0), request(id, 0), request(id, 6)};
  const auto take = [](size_t i, const TrialReport&) {
    if (i == 1) throw InputError("enough");
    return true;
  };
  EXPECT_THROW(client.trials(requests, milliseconds(20000), take), InputError);
  EXPECT_EQ(client.trial(request(id, 0), milliseconds(20000)).status, ReplyStatus::kOk);
}

TEST_F(ExecutorClientOnProcesses, AKilledExecutorIsAskedOnceMoreAndSaysNothing) {
  ExecutorClient client(config());
  const int id = client.load(Task());
  const TrialReport report = client.trial(request(id, 1), milliseconds(20000));
  EXPECT_EQ(report.status, ReplyStatus::kNotJudged);
  EXPECT_NE(report.message.find("SIGKILL: terminate called | CUDA error"), std::string::npos)
      << report.message;
  EXPECT_EQ(client.restarts(), 1);
  EXPECT_EQ(client.trial(request(id, 0), milliseconds(20000)).status, ReplyStatus::kOk);
}

TEST_F(ExecutorClientOnProcesses, AnyThreadMayAsk) {
  ExecutorClient client(config());
  const int id = client.load(Task());
  const Json pid = client.hello()["pid"];
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        good += client.trial(request(id, 0), milliseconds(20000)).peak_bytes == pid;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 160);
  // The threads that asked are gone, it is not.
  EXPECT_EQ(client.trial(request(id, 0), milliseconds(20000)).peak_bytes, pid);
}

TEST_F(ExecutorClientOnProcesses, OtherRepliesLeaveItAlive) {
  ExecutorClient client(config());
  const Json pid = client.hello()["pid"];
  const int id = client.load(Task());
  EXPECT_EQ(client.trial(request(id, 6), milliseconds(20000)).status, ReplyStatus::kNotJudged);
  EXPECT_EQ(client.trial(request(id, 7), milliseconds(20000)).status,
            ReplyStatus::kOk);  // a noisy one
  Task task;
  task.target = "refused";
  const TrialReport report = client.trial(request(client.load(task), 0), milliseconds(20000));
  EXPECT_EQ(report.status, ReplyStatus::kFailed);
  EXPECT_EQ(report.message, "cannot load");
  EXPECT_EQ(client.trial(request(id, 0), milliseconds(20000)).peak_bytes, pid);
}

TEST_F(ExecutorClientOnProcesses, TimesMustBeAsManyAsPrograms) {
  ExecutorClient client(config());
  TimeRequest time;
  time.tasks = {client.load(Task()), client.load(Task())};
  time.packages = {{"compiled.pt2"}};
  time.seed = 3;
  EXPECT_EQ(client.time(time, milliseconds(20000)).device_ms.size(), 3u);
  time.seed = 2;
  EXPECT_EQ(client.time(time, milliseconds(20000)).status, ReplyStatus::kDied);
}

TEST_F(ExecutorClientOnProcesses, ProcessesServeReferencesSideBySide) {
  ExecutorConfig settings = config();
  settings.processes = 2;
  ExecutorClient client(settings);
  const std::vector<int> references = {client.load(Task()), client.load(Task())};
  const int shared = client.load(Task());
  const auto trial = [&](int reference, int candidate, uint64_t seed) {
    const TrialReport report = client.trial({reference, candidate, seed}, milliseconds(20000));
    EXPECT_EQ(report.status, ReplyStatus::kOk) << report.message;
    return report.idle_launches;  // all that the process has loaded
  };
  std::thread other([&] { trial(references[1], shared, 9); });
  trial(references[0], shared, 9);
  other.join();
  // A reference stays where it was; what both need is in both.
  const std::vector<int> first = trial(references[0], shared, 0),
                         second = trial(references[1], shared, 0);
  EXPECT_EQ(std::set<int>(first.begin(), first.end()), (std::set<int>{references[0], shared}));
  EXPECT_EQ(std::set<int>(second.begin(), second.end()), (std::set<int>{references[1], shared}));
  // One dies; the other one keeps what it has.
  EXPECT_EQ(client.trial({references[0], shared, 5}, milliseconds(20000)).status,
            ReplyStatus::kDied);
  EXPECT_EQ(trial(references[1], shared, 0), second);
  client.unload(shared);
  EXPECT_EQ(trial(references[1], references[1], 0), (std::vector<int>{references[1]}));
  EXPECT_EQ(trial(references[0], references[0], 0), (std::vector<int>{references[0]}));
  EXPECT_EQ(client.restarts(), 1);
}

TEST_F(ExecutorClientOnProcesses, WhatIsTimedHasTheDeviceAlone) {
  ExecutorConfig settings = config();
  settings.processes = 3;
  ExecutorClient client(settings);
  std::vector<std::thread> threads;
  std::atomic<int> good{0};
  for (int t = 0; t < 9; ++t) {
    threads.emplace_back([&, t] {
      const int id = client.load(Task());
      for (int i = 0; i < 12; ++i) {
        if (t % 3 == 0) {
          TimeRequest time;
          time.tasks = {id};
          time.seed = 1;
          good += client.time(time, milliseconds(20000)).status == ReplyStatus::kOk;
        } else {
          // A death in between: the spare that is set up is waited for by all that is timed.
          const uint64_t seed = t == 4 && i == 5 ? 5 : 10;
          const TrialReport report = client.trial(request(id, seed), milliseconds(20000));
          good += report.status == (seed == 5 ? ReplyStatus::kDied : ReplyStatus::kOk);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, 9 * 12);
}

// Candidates of one reference go through their trials together, so that each trial's reference side
// is needed for all of them at once.
TEST_F(ExecutorClientOnProcesses, CandidatesOfOneReferenceTakeTurns) {
  for (int processes : {1, 2}) {
    SCOPED_TRACE(processes);
    std::filesystem::remove(folder_.path() / "order");
    std::filesystem::remove(folder_.path() / "go");
    ExecutorConfig settings = config();
    settings.processes = processes;
    ExecutorClient client(settings);
    const int reference = client.load(Task());
    constexpr int kCandidates = 4;
    std::vector<std::thread> threads;
    std::atomic<int> done{0};
    for (int c = 0; c < kCandidates; ++c) {
      threads.emplace_back([&] {
        const int candidate = client.load(Task());
        std::vector<TrialRequest> requests;
        for (uint64_t seed = 100; seed < 106; ++seed) {
          requests.push_back({reference, candidate, seed});
        }
        size_t next = 0;
        client.trials(requests, milliseconds(20000), [&](size_t i, const TrialReport& report) {
          EXPECT_EQ(i, next++);
          done += report.status == ReplyStatus::kOk;
          return true;
        });
      });
    }
    std::this_thread::sleep_for(milliseconds(500));  // until all of them ask
    std::ofstream(folder_.path() / "go");
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(done, 6 * kCandidates);
    std::ifstream order(folder_.path() / "order");
    std::vector<int> seeds;
    for (int candidate, seed; order >> candidate >> seed;) seeds.push_back(seed);
    std::vector<int> expected;
    for (int seed = 100; seed < 106; ++seed) expected.insert(expected.end(), kCandidates, seed);
    EXPECT_EQ(seeds, expected);
  }
}

// A request that waits to be alone keeps no other from beginning: here two trials wait for each
// other.
TEST_F(ExecutorClientOnProcesses, WhoWaitsToBeAloneHoldsUpNobody) {
  ExecutorConfig settings = config();
  settings.processes = 2;
  ExecutorClient client(settings);
  const std::vector<int> references = {client.load(Task()), client.load(Task())};
  const auto meets = [&](int reference) {
    EXPECT_EQ(client.trial(request(reference, 9), milliseconds(20000)).status, ReplyStatus::kOk);
  };
  std::thread first([&] { meets(references[0]); });
  std::this_thread::sleep_for(milliseconds(500));  // until it is there
  std::thread timed([&] {
    TimeRequest time;
    time.tasks = {references[0]};
    time.seed = 1;
    EXPECT_EQ(client.time(time, milliseconds(20000)).status, ReplyStatus::kOk);
  });
  std::this_thread::sleep_for(milliseconds(100));
  meets(references[1]);
  first.join();
  timed.join();
  EXPECT_EQ(client.restarts(), 0);
}

// The first of several processes may hang; what it once said is known.
TEST_F(ExecutorClientOnProcesses, NobodyWaitsForAGreeting) {
  ExecutorConfig settings = config();
  settings.processes = 2;
  ExecutorClient client(settings);
  const Json greeting = client.hello();
  const int id = client.load(Task());
  std::thread hangs([&] { client.trial(request(id, 2), milliseconds(3000)); });
  std::this_thread::sleep_for(milliseconds(500));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(client.hello(), greeting);
  EXPECT_LT(std::chrono::steady_clock::now() - start, milliseconds(1000));
  hangs.join();
}

TEST_F(ExecutorClientOnProcesses, WhatIsLateIsTriedAgainAlone) {
  ExecutorConfig settings = config();
  settings.processes = 2;
  settings.limit_flag = "--trial-timeout";
  ExecutorClient client(settings);
  const int id = client.load(Task());
  EXPECT_EQ(client.trial(request(id, 11), milliseconds(1000)).status,
            ReplyStatus::kOk);  // late the first time
  EXPECT_EQ(client.restarts(), 1);
  const TrialReport report = client.trial(request(id, 2), milliseconds(300));
  EXPECT_EQ(report.status, ReplyStatus::kDied);
  EXPECT_NE(report.message.find("in time"), std::string::npos) << report.message;
  EXPECT_TRUE(report.message.ends_with(" (--trial-timeout)")) << report.message;
  std::vector<ReplyStatus> statuses;
  client.trials({request(id, 0), request(id, 2), request(id, 0)}, milliseconds(300),
                [&](size_t i, const TrialReport& each) {
                  EXPECT_EQ(i, statuses.size());
                  statuses.push_back(each.status);
                  return true;
                });
  EXPECT_EQ(statuses,
            (std::vector<ReplyStatus>{ReplyStatus::kOk, ReplyStatus::kDied, ReplyStatus::kOk}));
}

// What others keep for later is theirs no more.
TEST_F(ExecutorClientOnProcesses, WhatLacksMemoryIsTriedAgainWithTheOthers) {
  for (const bool timed : {false, true}) {
    SCOPED_TRACE(timed);
    ExecutorConfig settings = config();
    std::filesystem::remove(folder_.path() / "started");
    settings.processes = 2;
    ExecutorClient client(settings);
    const int one = client.load(Task()), other = client.load(Task());
    EXPECT_EQ(client.trial(request(one, 0), milliseconds(20000)).status, ReplyStatus::kOk);
    EXPECT_EQ(client.trial(request(other, 0), milliseconds(20000)).status, ReplyStatus::kOk);
    if (timed) {
      TimeRequest time;
      time.tasks.assign(12, one);  // as many as the seed says
      time.seed = 12;
      EXPECT_EQ(client.time(time, milliseconds(20000)).status, ReplyStatus::kOk);
    } else {
      std::vector<ReplyStatus> statuses;
      client.trials({request(one, 0), request(one, 12), request(one, 0)}, milliseconds(20000),
                    [&](size_t i, const TrialReport& each) {
                      EXPECT_EQ(i, statuses.size());
                      statuses.push_back(each.status);
                      return true;
                    });
      EXPECT_EQ(statuses,
                (std::vector<ReplyStatus>{ReplyStatus::kOk, ReplyStatus::kOk, ReplyStatus::kOk}));
      // Who takes the reports may fail, which is no executor's.
      EXPECT_THROW(client.trials({request(other, 0)}, milliseconds(20000),
                                 [](size_t, const TrialReport&) -> bool {
                                   throw EnvironmentError("of who takes");
                                 }),
                   EnvironmentError);
      EXPECT_EQ(client.trial(request(one, 0), milliseconds(20000)).status, ReplyStatus::kOk);
    }
    EXPECT_EQ(client.restarts(), 0);
  }
  // Of one process alone it is what it is.
  ExecutorClient alone(config());
  const int id = alone.load(Task());
  EXPECT_EQ(alone.trial(request(id, 12), milliseconds(20000)).message, "reference: out of memory");
}

TEST_F(ExecutorClientOnProcesses, OneThatHasNoRoomToStartIsStartedWithTheOthersMemory) {
  ExecutorConfig settings = config();
  settings.processes = 2;
  ExecutorClient client(settings);
  const int one = client.load(Task()), other = client.load(Task());
  EXPECT_EQ(client.trial(request(one, 0), milliseconds(20000)).status, ReplyStatus::kOk);
  std::ofstream(folder_.path() / "full");
  EXPECT_EQ(client.trial(request(other, 0), milliseconds(20000)).status, ReplyStatus::kOk);
}

TEST_F(ExecutorClientOnProcesses, OneThatDoesNotStartIsAnEnvironmentError) {
  for (const auto& [script, says] : std::vector<std::pair<std::string, std::string>>{
           {"import sys; sys.exit('no GPU was found')", "no GPU was found"},
           {"import socket; socket.socket(fileno=3).send(b'x' * 16)", "no frame"}}) {
    ExecutorClient client(config(script));
    try {
      client.hello();
      ADD_FAILURE() << script;
    } catch (const EnvironmentError& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  }
  ExecutorConfig settings = config();
  settings.binary = "/nonexistent/kernelwright-executor";
  EXPECT_THROW(ExecutorClient(settings).hello(), EnvironmentError);
}

}  // namespace
}  // namespace kw
