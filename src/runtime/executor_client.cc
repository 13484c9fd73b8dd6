#include "runtime/executor_client.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <stdexcept>
#include <thread>

#include "formats/error.h"
#include "runtime/lasting_executor.h"

namespace kw {
namespace {

using std::chrono::milliseconds;

template <class Report>
bool lacks_memory(const Report& report) {
  return report.status == "not-judged" && report.message.ends_with("out of memory");
}

// A thread that does what others ask, in order, while they wait.
class Server {
 public:
  Server() : thread_([this] { serve(); }) {}
  ~Server() {
    post(nullptr);
    thread_.join();
  }
  // What `work` returns or throws.
  template <class Work>
  auto call(Work work) {
    std::packaged_task<decltype(work())()> task(std::move(work));
    auto result = task.get_future();
    post([&task] { task(); });  // it outlives the wait
    return result.get();
  }

 private:
  void post(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    news_.notify_one();
  }
  void serve() {
    while (true) {
      std::unique_lock lock(mutex_);
      news_.wait(lock, [&] { return !queue_.empty(); });
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      if (!work) return;
      work();
    }
  }

  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<std::function<void()>> queue_;
  std::thread thread_;  // last: it uses the others
};

}  // namespace

struct ExecutorClient::Served {
  explicit Served(ExecutorConfig config)
      : executor(std::make_unique<LastingExecutor>(std::move(config))) {}
  ~Served() {
    server.call([&] { executor.reset(); });
  }
  std::unique_ptr<LastingExecutor> executor;
  // What the process is to know from its next call on; under the client's mutex_.
  std::vector<std::pair<int, std::shared_ptr<const Task>>> given;
  Server server;
};

ExecutorClient::ExecutorClient(ExecutorConfig config) {
  if (config.processes < 1) throw std::logic_error("an executor has a process");
  for (int i = 0; i < config.processes; ++i) served_.push_back(std::make_unique<Served>(config));
  homes_.resize(served_.size());
}
ExecutorClient::~ExecutorClient() = default;

template <class Work>
auto ExecutorClient::call_process(size_t process, Turn turn, Work work) const {
  Served& served = *served_[process];
  return served.server.call([&] {
    std::unique_lock next(next_);
    std::shared_lock together(device_, std::defer_lock);
    std::unique_lock alone(device_, std::defer_lock);
    if (turn == Turn::kTogether) {
      together.lock();
    } else {
      alone.lock();
    }
    next.unlock();
    return work(*served.executor);
  });
}

template <class Work>
auto ExecutorClient::call_for(const std::vector<int>& tasks, Turn turn, Work work) {
  std::unique_lock lock(mutex_);
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
  const size_t process = *home;
  for (int id : tasks) {
    Held& task = held(id);
    if (task.at.insert(process).second) served_[process]->given.emplace_back(id, task.task);
  }
  lock.unlock();
  return call_process(process, turn, [&](LastingExecutor& executor) {
    std::unique_lock taking(mutex_);
    const auto given = std::exchange(served_[process]->given, {});
    taking.unlock();
    for (const auto& [id, task] : given) executor.hold(id, task);
    return work(executor);
  });
}

Json ExecutorClient::hello() {
  std::unique_lock lock(mutex_);
  if (!hello_.is_null()) return hello_;
  lock.unlock();
  Json hello =
      call_process(0, Turn::kTogether, [](LastingExecutor& executor) { return executor.hello(); });
  lock.lock();
  return hello_ = std::move(hello);
}

int ExecutorClient::load(Task task) {
  const std::lock_guard lock(mutex_);
  held_[++last_id_].task = std::make_shared<const Task>(std::move(task));
  return last_id_;
}

void ExecutorClient::unload(int id) {
  std::unique_lock lock(mutex_);
  const auto node = held_.extract(id);
  if (node.empty()) return;
  if (node.mapped().home) --homes_[*node.mapped().home];
  lock.unlock();
  for (size_t process : node.mapped().at) {
    call_process(process, Turn::kTogether, [&](LastingExecutor& executor) { executor.unload(id); });
  }
}

int ExecutorClient::restarts() const {
  int out = 0;
  for (size_t i = 0; i < served_.size(); ++i) {
    out += call_process(i, Turn::kTogether,
                        [](LastingExecutor& executor) { return executor.restarts(); });
  }
  return out;
}

std::map<std::string, double> ExecutorClient::busy_seconds() const {
  std::map<std::string, double> out;
  for (size_t i = 0; i < served_.size(); ++i) {
    for (const auto& [kind, seconds] :
         call_process(i, Turn::kTogether,
                      [](LastingExecutor& executor) { return executor.busy_seconds(); })) {
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

// For who has the device alone: nobody else touches the others now.
void ExecutorClient::release_others(const LastingExecutor& own) const {
  for (const auto& served : served_) {
    if (served->executor.get() != &own) served->executor->release();
  }
}

// What `ask` says of these tasks. Where memory was lacking, for the request or for a process to
// start, once more with the device alone and what others kept of it.
template <class Report, class Ask>
Report ExecutorClient::with_room(const std::vector<int>& tasks, Turn turn, const Ask& ask) {
  try {
    Report report = call_for(tasks, turn, ask);
    if (served_.size() == 1 || !lacks_memory(report)) return report;
  } catch (const EnvironmentError&) {
    if (served_.size() == 1) throw;
  }
  return call_for(tasks, Turn::kAlone, [&](LastingExecutor& executor) {
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

// What had no answer in time may have waited for others' kernels, and what had no memory for
// theirs: it is tried again, and the rest after it, with the device alone and what others kept. Of
// a reference that once lacked memory all later trials have the device alone at once.
void ExecutorClient::trials(const std::vector<TrialRequest>& requests, milliseconds deadline,
                            const TakeReport& take) {
  if (requests.empty()) return;
  const std::vector<int> tasks = {requests[0].reference, requests[0].candidate};
  size_t taken = 0;
  bool taking = false;
  // Those that are left; whether that is the end of them. Unless it is the last attempt, one that
  // was late or lacked memory is left too.
  const bool alone = is_large(tasks[0]);  // from the first attempt on
  const auto attempt = [&](LastingExecutor& executor, bool last) {
    const size_t first = taken;
    bool again = false;
    executor.trials({requests.begin() + static_cast<long>(first), requests.end()}, deadline,
                    [&](size_t i, TrialReport report) {
                      const bool lacking = lacks_memory(report);
                      if (lacking && !report.message.starts_with("candidate")) note_large(tasks[0]);
                      again = !last && (lacking || (!alone && executor.was_late()));
                      if (again) return false;
                      taken = first + i + 1;
                      taking = true;
                      const bool more = take(first + i, std::move(report));
                      taking = false;
                      return more;
                    });
    return !again;
  };
  if (served_.size() == 1) {
    call_for(tasks, Turn::kTogether,
             [&](LastingExecutor& executor) { return attempt(executor, true); });
    return;
  }
  try {
    const Turn turn = alone ? Turn::kAlone : Turn::kTogether;
    if (call_for(tasks, turn, [&](LastingExecutor& executor) { return attempt(executor, false); }))
      return;
  } catch (const EnvironmentError&) {
    if (taking) throw;  // else it did not start
  }
  call_for(tasks, Turn::kAlone, [&](LastingExecutor& executor) {
    release_others(executor);
    return attempt(executor, true);
  });
}

TimeReport ExecutorClient::time(const TimeRequest& request, milliseconds deadline) {
  // The others too, which nobody else touches now.
  const auto settle_all = [this] {
    for (const auto& served : served_) served->executor->settle();
  };
  const auto read = [&](const JsonReader& in) {
    TimeReport report = time_report_from_json(in);
    const size_t expected = request.tasks.size() + request.packages.size();
    if (report.status == "ok" && report.device_ms.size() != expected) {
      in.fail("expected times of " + std::to_string(expected) + " programs");
    }
    return report;
  };
  return with_room<TimeReport>(request.tasks, Turn::kAlone, [&](LastingExecutor& executor) {
    return executor.request<TimeReport>(to_json(request), request.tasks, deadline, read,
                                        settle_all);
  });
}

ExamineReport ExecutorClient::examine(const ExamineRequest& request, milliseconds deadline) {
  const std::vector<int> tasks = {request.task};
  return with_room<ExamineReport>(tasks, Turn::kTogether, [&](LastingExecutor& executor) {
    return executor.request<ExamineReport>(to_json(request), tasks, deadline,
                                           examine_report_from_json);
  });
}

}  // namespace kw
