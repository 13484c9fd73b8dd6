// An executor that lasts: remembers which tasks were loaded, and starts a process anew (and loads
// again on demand) after a crash, a sticky CUDA error or a hang; from the first of these on another
// one waits, set up, to take its place. Torch-free. For one thread: a process ends with the one
// that started it.
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

  // EnvironmentError when it does not start; of all that need it, too.
  const Json& hello();
  void hold(int id, std::shared_ptr<const Task> task) { tasks_.emplace(id, std::move(task)); }
  void unload(int id);

  // Loads what is missing and sends the request; `parse` reads the reply. An executor that somebody
  // kills says nothing of the request: it is made again, once. `before` is called when the executor
  // is ready, before it is asked.
  template <class Report, class Parse>
  Report request(const Json& json, const std::vector<int>& tasks, Milliseconds wait,
                 const Parse& parse, const std::function<void()>& before = {}) {
    return request<Report>({json, tasks, nullptr, before}, wait, parse);
  }
  // ExecutorClient::trials from place `first` on, by this executor. Where others are waiting for
  // it, who need not wait for all of them, it returns between two trials.
  void trials(const std::vector<TrialRequest>& requests, size_t first, Milliseconds wait,
              const std::function<bool()>& others_wait,
              const std::function<bool(size_t, TrialReport)>& take);
  bool was_late() const { return late_; }  // the last request had no answer in time

  // Waits until nothing is being set up: that uses the device and a core, which times would show.
  void settle();
  // What the process keeps of the device's memory for later requests, where there is one.
  void release();

  std::map<std::string, double> busy_seconds() const { return busy_; }
  int restarts() const { return starts_ > 0 ? starts_ - 1 : 0; }

 private:
  struct Busy;
  struct Asked {
    const Json& json;
    const std::vector<int>& tasks;
    const Json* next;  // what will be requested of the same tasks afterwards: the executor has it
                       // already when this one is done
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
  bool sent_ahead_ = false;  // to it, the request that comes next
  int starts_ = 0;
  std::map<std::string, double> busy_;  // seconds by kind of request
};

}  // namespace kw
