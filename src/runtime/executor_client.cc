#include "runtime/executor_client.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <utility>

#include "formats/base/error.h"
#include "runtime/lasting_executor.h"
#include "runtime/serving_thread.h"

namespace kw {
namespace {

using std::chrono::milliseconds;

bool lacks_memory(const Reply& reply) { return reply.cause == Cause::kOutOfMemory; }

}  // namespace

struct ExecutorClient::Served {
  explicit Served(ExecutorConfig config)
      : executor(std::make_unique<LastingExecutor>(std::move(config))) {}
  ~Served() {
    thread.call({}, [&] { executor.reset(); });
  }
  std::unique_ptr<LastingExecutor> executor;
  // Tasks by id that the process hears of with its next call; null for one that it forgets. Guarded
  // by the client's mutex_.
  std::vector<std::pair<int, std::shared_ptr<const Task>>> news;
  std::atomic<int> in_trials{0};  // callers
  ServingThread thread;
};

ExecutorClient::ExecutorClient(ExecutorConfig config) {
  if (config.processes < 1) throw std::logic_error("an executor has a process");
  for (int i = 0; i < config.processes; ++i) served_.push_back(std::make_unique<Served>(config));
  homes_.resize(served_.size());
}
ExecutorClient::~ExecutorClient() = default;

// Waits for a turn, which the caller holds. A single process needs none.
DeviceTurns::Turn ExecutorClient::turn(Kind kind, size_t process) const {
  if (served_.size() == 1) return DeviceTurns::Turn();
  return kind == Kind::kTogether ? turns_.together() : turns_.alone(process);
}

// Runs work(executor) on the thread of a process, after it has heard of all news.
template <class Work>
auto ExecutorClient::call(size_t process, std::optional<ServingThread::Rank> rank,
                          Work work) const {
  Served& served = *served_[process];
  return served.thread.call(std::move(rank), [&] {
    std::unique_lock lock(mutex_);
    const auto news = std::exchange(served.news, {});
    lock.unlock();
    for (const auto& [id, task] : news) {
      task ? served.executor->hold(id, task) : served.executor->unload(id);
    }
    return work(*served.executor);
  });
}

size_t ExecutorClient::home_of(const std::vector<int>& tasks) {
  const std::lock_guard lock(mutex_);
  const auto held = [&](int id) -> Held& {
    const auto found = held_.find(id);
    if (found == held_.end()) throw std::logic_error("no task has the id " + std::to_string(id));
    return found->second;
  };
  std::optional<size_t>& home = held(tasks.at(0)).home;
  if (!home) {
    home = std::min_element(homes_.begin(), homes_.end()) - homes_.begin();
    ++homes_[*home];
  }
  for (int id : tasks) {
    Held& task = held(id);
    if (task.at.insert(*home).second) served_[*home]->news.emplace_back(id, task.task);
  }
  return *home;
}

Json ExecutorClient::hello() {
  std::unique_lock lock(mutex_);
  if (!hello_.is_null()) return hello_;
  lock.unlock();
  const auto held = turn(Kind::kTogether, 0);
  Json hello = call(0, {}, [](LastingExecutor& executor) { return executor.hello(); });
  lock.lock();
  return hello_ = std::move(hello);
}

int ExecutorClient::load(Task task) {
  const std::lock_guard lock(mutex_);
  held_[++last_id_].task = std::make_shared<const Task>(std::move(task));
  return last_id_;
}

// Unloads a reference at once, as its results take memory, and other tasks with the next call.
void ExecutorClient::unload(int id) {
  std::unique_lock lock(mutex_);
  const auto node = held_.extract(id);
  if (node.empty()) return;
  const std::optional<size_t> home = node.mapped().home;
  if (home) --homes_[*home];
  for (size_t process : node.mapped().at) served_[process]->news.emplace_back(id, nullptr);
  lock.unlock();
  if (!home) return;
  const auto held = turn(Kind::kTogether, *home);
  call(*home, {}, [](LastingExecutor&) {});
}

int ExecutorClient::restarts() const {
  int out = 0;
  for (size_t i = 0; i < served_.size(); ++i) {
    const auto held = turn(Kind::kTogether, i);
    out += call(i, {}, [](LastingExecutor& executor) { return executor.restarts(); });
  }
  return out;
}

std::map<std::string, double> ExecutorClient::busy_seconds() const {
  std::map<std::string, double> out;
  for (size_t i = 0; i < served_.size(); ++i) {
    const auto held = turn(Kind::kTogether, i);
    const auto busy =
        call(i, {}, [](LastingExecutor& executor) { return executor.busy_seconds(); });
    for (const auto& [kind, seconds] : busy) {
      out[kind] += seconds / static_cast<double>(served_.size());
    }
  }
  return out;
}

TrialReport ExecutorClient::trial(const TrialRequest& request, milliseconds deadline) {
  TrialReport out;
  trials({request}, deadline, [&](size_t, TrialReport report) {
    out = std::move(report);
    return false;
  });
  return out;
}

// Releases the memory of the other processes. The caller has the device alone, so nobody else calls
// them.
void ExecutorClient::release_others(const LastingExecutor& own) const {
  for (const auto& served : served_) {
    if (served->executor.get() != &own) served->executor->release();
  }
}

// Returns what `ask` says of these tasks. If memory was lacking, for the request or for a process
// to start, asks once more with the device alone and with the memory that others kept.
template <class Report, class Ask>
Report ExecutorClient::with_room(const std::vector<int>& tasks, Kind kind, const Ask& ask) {
  const size_t home = home_of(tasks);
  try {
    const auto held = turn(kind, home);
    Report report = call(home, {}, ask);
    if (served_.size() == 1 || !lacks_memory(report)) return report;
  } catch (const EnvironmentError&) {
    if (served_.size() == 1) throw;
  }
  const auto held = turn(Kind::kAlone, home);
  return call(home, {}, [&](LastingExecutor& executor) {
    release_others(executor);
    return ask(executor);
  });
}

bool ExecutorClient::is_large(int task) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(task);
  return found != held_.end() && found->second.large;
}
void ExecutorClient::note_large(int task) {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(task);
  if (found != held_.end()) found->second.large = true;
}

// A trial without an answer in time may have waited for others' kernels, and one without memory may
// have lacked what others hold. It and the trials after it are repeated with the device alone and
// with the memory of others. Once a reference has lacked memory, its later trials have the device
// alone from the first attempt on.
void ExecutorClient::trials(const std::vector<TrialRequest>& requests, milliseconds deadline,
                            const TakeReport& take) {
  if (requests.empty()) return;
  const std::vector<int> tasks = {requests[0].reference, requests[0].candidate};
  const size_t home = home_of(tasks);
  Served& served = *served_[home];
  struct Caller {
    explicit Caller(std::atomic<int>& count) : count(count) { ++count; }
    ~Caller() { --count; }
    std::atomic<int>& count;
  };
  const bool alone = is_large(tasks[0]);  // from the first attempt on
  size_t taken = 0;
  bool enough = false, taking = false, released = false;
  // Runs trials to the end, in turn with others of the process. Returns false if one was late or
  // lacked memory; that one is then the next. The last attempt takes such reports.
  const auto attempt = [&](bool last) {
    const Caller caller(served.in_trials);
    bool again = false;
    const auto some = [&](LastingExecutor& executor) {
      if (last && !std::exchange(released, true)) release_others(executor);
      const auto others_wait = [&] { return served.in_trials > 1; };
      executor.trials(requests, taken, deadline, others_wait, [&](size_t i, TrialReport report) {
        const bool lacking = lacks_memory(report);
        if (lacking && report.fault != Side::kCandidate) note_large(tasks[0]);
        again = !last && (lacking || (!alone && executor.was_late()));
        if (again) return false;
        taken = i + 1;
        taking = true;
        enough = !take(i, std::move(report));
        taking = false;
        return !enough;
      });
    };
    while (!again && !enough && taken < requests.size()) {
      call(home, ServingThread::Rank{taken, requests[taken].reference_key()}, some);
    }
    return !again;
  };
  if (served_.size() == 1) {
    attempt(true);
    return;
  }
  try {
    const auto held = turn(alone ? Kind::kAlone : Kind::kTogether, home);
    if (attempt(false)) return;
  } catch (const EnvironmentError&) {
    if (taking) throw;  // else it did not start
  }
  const auto held = turn(Kind::kAlone, home);
  attempt(true);
}

TimeReport ExecutorClient::time(const TimeRequest& request, milliseconds deadline) {
  // Settles the other executors too. This call has the device alone, so no thread uses them now.
  const auto settle_all = [this] {
    for (const auto& served : served_) served->executor->settle();
  };
  const auto read = [&](const JsonReader& in) {
    TimeReport report = time_report_from_json(in);
    const size_t expected = request.tasks.size() + request.packages.size();
    if (report.ok() && report.device_ms.size() != expected) {
      in.fail("expected times of " + std::to_string(expected) + " programs");
    }
    return report;
  };
  return with_room<TimeReport>(request.tasks, Kind::kAlone, [&](LastingExecutor& executor) {
    return executor.request<TimeReport>(to_json(request), request.tasks, deadline, read,
                                        settle_all);
  });
}

ExamineReport ExecutorClient::examine(const ExamineRequest& request, milliseconds deadline) {
  const std::vector<int> tasks = {request.task};
  return with_room<ExamineReport>(tasks, Kind::kTogether, [&](LastingExecutor& executor) {
    return executor.request<ExamineReport>(to_json(request), tasks, deadline,
                                           examine_report_from_json);
  });
}

Reply ExecutorClient::bare(const BareRequest& request, milliseconds deadline) {
  const std::vector<int> tasks = {request.reference, request.candidate};
  return with_room<Reply>(tasks, Kind::kTogether, [&](LastingExecutor& executor) {
    return executor.request<Reply>(to_json(request), tasks, deadline, reply_from_json);
  });
}

void ExecutorClient::beside(int task, const std::function<void()>& work) {
  const size_t home = home_of({task});
  const auto held = turn(Kind::kTogether, home);
  call(home, {}, [&](LastingExecutor&) { work(); });
}

}  // namespace kw
