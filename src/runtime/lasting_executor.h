// An executor that outlives its process. It remembers which tasks were loaded. After a crash, a
// sticky CUDA error or a hang it starts another process, and loads the tasks again on demand. From
// the first such end on a spare process waits, set up, to take the place of the next. Torch-free.
// For one thread, as a process ends with the thread that started it.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "program/program.h"
#include "runtime/executor_process.h"
#include "runtime/protocol.h"

namespace kw {

class LastingExecutor {
 public:
  using Milliseconds = std::chrono::milliseconds;

  explicit LastingExecutor(ExecutorConfig config) : config_(std::move(config)) {}

  // Throws EnvironmentError if the process does not start, as do all members that need one.
  const Json& hello();
  void hold(int id, std::shared_ptr<const Task> task) { tasks_.emplace(id, std::move(task)); }
  void unload(int id);

  // Loads missing tasks and sends the request; `parse` reads the reply. A process that somebody
  // else kills says nothing about the request, which is then repeated once. `before` is called when
  // the process is ready, before the request is sent.
  template <class Report, class Parse>
  Report request(const Json& json, const std::vector<int>& tasks, Milliseconds wait,
                 const Parse& parse, const std::function<void()>& before = {}) {
    return request<Report>({json, tasks, nullptr, before}, wait, parse);
  }
  // Runs Executor::trials from place `first` on. Returns between two trials if others wait, as they
  // need not wait for all of them.
  void trials(const std::vector<TrialRequest>& requests, size_t first, Milliseconds wait,
              const std::function<bool()>& others_wait,
              const std::function<bool(size_t, TrialReport)>& take);
  bool was_late() const { return late_; }  // the last request had no answer in time

  // Waits until no process is being set up, as that uses the device and a core and would distort
  // times.
  void settle();
  // Gives back the device's memory that the process, if there is one, keeps for later requests.
  void release();

  std::map<std::string, double> busy_seconds() const { return busy_; }
  int restarts() const { return starts_ > 0 ? starts_ - 1 : 0; }

 private:
  struct Busy;
  struct Asked {
    const Json& json;
    const std::vector<int>& tasks;
    const Json* next;  // the following request for the same tasks, which is sent ahead
    std::function<void()> before;
  };
  // Why a request has no answer.
  struct Fault {
    Reply reply;  // in place of the answer
    bool killed = false, late = false;
  };
  // Reads an answer and returns its status.
  using Read = std::function<ReplyStatus(const JsonReader&)>;

  template <class Report, class Parse>
  Report request(const Asked& asked, Milliseconds wait, const Parse& parse) {
    Report report;
    const auto fault = ask(asked, wait, [&](const JsonReader& in) {
      report = parse(in);
      return report.status;
    });
    if (!fault) return report;
    report = {};
    static_cast<Reply&>(report) = fault->reply;
    return report;
  }
  std::optional<Fault> ask(const Asked& asked, Milliseconds wait, const Read& read);
  std::optional<Fault> attempt(const Asked& asked, Milliseconds wait, const Read& read);
  Json call(const Json& request, Deadline deadline, const Json* next = nullptr);
  Json call(const Frame& request, Deadline deadline, const Json* next = nullptr);
  void drop_answer(Deadline deadline);
  void settle_own();
  void start();
  void stop();
  std::optional<Fault> require(int id, Deadline deadline);

  ExecutorConfig config_;
  std::unique_ptr<ExecutorProcess> executor_, spare_;
  Json hello_;
  bool late_ = false;
  std::map<int, std::shared_ptr<const Task>> tasks_;
  std::set<int> loaded_;     // by the present process
  bool sent_ahead_ = false;  // whether it already has the next request
  int starts_ = 0;
  std::map<std::string, double> busy_;  // seconds by kind of request
};

}  // namespace kw
