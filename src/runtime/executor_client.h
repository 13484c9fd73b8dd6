// The supervisor's end of executor processes. Torch-free.
//
// Any thread may call: a thread of its own, whose life is the process's, serves a process's calls
// one at a time, trials of several candidates in turn (serving_thread.h). A process that ends is
// started anew (lasting_executor.h).
//
// There may be several processes, whose trials run side by side: one's host work, loading and
// restarts beside another's kernels. All requests whose first task is the same (a reference) go to
// one of them, which keeps its answers. Whatever is timed has the device alone all the same
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
#include "runtime/executor_process.h"
#include "runtime/protocol.h"
#include "runtime/serving_thread.h"

namespace kw {

class LastingExecutor;

class ExecutorClient {
 public:
  explicit ExecutorClient(ExecutorConfig config);
  ~ExecutorClient();

  // What the first process said when it had started; the same from then on. EnvironmentError when
  // it cannot start (no GPU, another torch than it was built with).
  Json hello();

  int load(Task task);  // returns an id; the work happens at first use
  void unload(int id);  // of a candidate the process learns with its next call
  // A request the executor does not survive (it crashes, hangs past the deadline, loses its device
  // or breaks the protocol) is reported as ReplyStatus::kDied with a message; the next call starts
  // a new one. The deadline covers loading; of several processes, what is late or has no memory is
  // tried again first, with the device alone. EnvironmentError when a new one does not start.
  TrialReport trial(const TrialRequest& request, std::chrono::milliseconds deadline);
  // Trials of one pair, in order, until `take` returns false: it gets each report and its place.
  // Others' trials may come in between.
  // The executor has the next request while it works on one, from the second on (what is wrong is
  // wrong in the first, as a rule). `take` must not call the client.
  using TakeReport = std::function<bool(size_t, TrialReport)>;
  void trials(const std::vector<TrialRequest>& requests, std::chrono::milliseconds deadline,
              const TakeReport& take);
  TimeReport time(const TimeRequest& request, std::chrono::milliseconds deadline);
  ExamineReport examine(const ExamineRequest& request, std::chrono::milliseconds deadline);
  int restarts() const;
  size_t processes() const { return served_.size(); }
  // Seconds in which a process had something to do, so far, in the mean over processes: of them
  // "load", "trial", "time", "examine", "release" and "unload".
  std::map<std::string, double> busy_seconds() const;

 private:
  struct Served;  // an executor and the thread it lives on
  struct Held {
    std::shared_ptr<const Task> task;
    std::optional<size_t> home;  // process of the requests that it comes first in
    std::set<size_t> at;         // processes that it was given to
    bool large = false;          // a trial of it lacked memory with others beside it
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
