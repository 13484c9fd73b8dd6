// The supervisor's end of executor processes. Torch-free.
//
// Any thread may call. Each process has a separate thread that lives as long as the process and
// serves its calls one at a time, trials of several candidates in turn (serving_thread.h). A
// process that ends is started again (lasting_executor.h).
//
// There may be several processes, whose trials run side by side: one process loads, restarts or
// works on the host while another runs kernels. All requests with the same first task (a reference)
// go to one process, which keeps the reference's answers. Timing still has the device alone
// (device_turns.h).
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "program/program.h"
#include "runtime/device_turns.h"
#include "runtime/executor.h"
#include "runtime/executor_process.h"
#include "runtime/protocol.h"
#include "runtime/serving_thread.h"

namespace kw {

class LastingExecutor;

class ExecutorClient : public Executor {
 public:
  explicit ExecutorClient(ExecutorConfig config);
  ~ExecutorClient() override;

  // Returns what the first process said when it had started. Throws EnvironmentError if it cannot
  // start: there is no GPU, or torch is another version than it was built with.
  Json hello() override;

  int load(Task task) override;  // returns an id; loading happens at first use
  void unload(int id) override;  // the process hears of a candidate with its next call
  // If the executor does not survive a request, the report has ReplyStatus::kDied and a message,
  // and the next call starts another process. It does not survive a crash, a hang past the
  // deadline, a lost device or a breach of the protocol. The deadline includes loading. With
  // several processes, a request that was late or lacked memory is first repeated with the device
  // alone. Throws EnvironmentError if another process does not start.
  TrialReport trial(const TrialRequest& request, std::chrono::milliseconds deadline);
  // Others' trials may come in between. From the second trial on, the executor has the next request
  // while it works on one; wrong candidates mostly fail in the first.
  void trials(const std::vector<TrialRequest>& requests, std::chrono::milliseconds deadline,
              const TakeReport& take) override;
  TimeReport time(const TimeRequest& request, std::chrono::milliseconds deadline) override;
  ExamineReport examine(const ExamineRequest& request, std::chrono::milliseconds deadline) override;
  void beside(int task, const std::function<void()>& work) override;
  // Returns whether the candidate ran to its end.
  Reply bare(const BareRequest& request, std::chrono::milliseconds deadline);
  int restarts() const;
  size_t processes() const override { return served_.size(); }
  // Returns for how many seconds a process has been busy so far, as a mean over processes, by kind
  // of request: "load", "trial", "time", "examine", "release" and "unload".
  std::map<std::string, double> busy_seconds() const;

 private:
  struct Served;  // an executor and the thread it lives on
  struct Held {
    std::shared_ptr<const Task> task;
    std::optional<size_t> home;  // the process of requests whose first task it is
    std::set<size_t> at;         // the processes that have it
    bool large = false;          // a trial of it lacked memory while others ran
  };
  enum class Kind { kTogether, kAlone };  // on the device, with other processes

  DeviceTurns::Turn turn(Kind kind, size_t process) const;
  template <class Work>
  auto call(size_t process, std::optional<ServingThread::Rank> rank, Work work) const;
  size_t home_of(const std::vector<int>& tasks);

  void release_others(const LastingExecutor& own) const;
  bool is_large(int task);
  void note_large(int task);
  template <class Report, class Ask>
  Report with_room(const std::vector<int>& tasks, Kind kind, const Ask& ask);

  std::vector<std::unique_ptr<Served>> served_;
  mutable DeviceTurns turns_;
  mutable std::mutex mutex_;  // of what follows
  std::map<int, Held> held_;
  std::vector<size_t> homes_;  // of each process, tasks
  int last_id_ = 0;
  Json hello_;
};

}  // namespace kw
