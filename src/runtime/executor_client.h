// The supervisor's end of an executor process. Torch-free.
//
// Starts `kernelwright-executor`, remembers which tasks were loaded, and restarts the process (and
// loads again on demand) after a crash, a sticky CUDA error or a hang; from the first of these on
// another one waits, set up, to take its place. Any thread may call: one
// thread of its own, whose life is the process's, serves calls one after the other, so that
// whatever is timed has the device alone.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "program/program.h"
#include "runtime/protocol.h"

namespace kw {

struct ExecutorConfig {
  std::string binary;              // kernelwright-executor
  std::string backend = "cpu";     // or "cuda"
  std::string python, worker_dir;  // for the interpreter of the cpu backend
  bool sandbox = true;             // of its workers; false only by the user's explicit flag
  bool wall_clock = false;         // the cpu backend times by the host's clock: for tests
  std::chrono::milliseconds start_deadline{60000};
};

ExecutorConfig default_executor_config(const std::string& backend);

class ExecutorClient {
 public:
  explicit ExecutorClient(ExecutorConfig config);
  ~ExecutorClient();

  // EnvironmentError when it cannot start (no GPU, another torch than it was built with).
  Json hello();

  int load(Task task);  // returns an id; the work happens at first use
  void unload(int id);
  // A request the executor does not survive (it crashes, hangs past the deadline, loses its device
  // or breaks the protocol) is reported as status "died" with a message; the next call starts a new
  // one. The deadline covers loading. EnvironmentError when a new one does not start.
  TrialReport trial(const TrialRequest& request, std::chrono::milliseconds deadline);
  // Trials of one pair, in order, until `take` returns false: it gets each report and its place.
  // The executor has the next request while it works on one, from the second on (what is wrong is
  // wrong in the first, as a rule). `take` must not call the client.
  using TakeReport = std::function<bool(size_t, TrialReport)>;
  void trials(const std::vector<TrialRequest>& requests, std::chrono::milliseconds deadline,
              const TakeReport& take);
  TimeReport time(const TimeRequest& request, std::chrono::milliseconds deadline);
  ExamineReport examine(const ExamineRequest& request, std::chrono::milliseconds deadline);
  int restarts() const;
  // Seconds in which the executor had something to do, so far: of them "load", "trial", "time",
  // "examine" and "unload".
  std::map<std::string, double> busy_seconds() const;

 private:
  class Impl;
  struct Served;  // an Impl and the thread it lives on
  template <class Work>
  auto call(Work work) const;

  std::unique_ptr<Served> served_;
};

}  // namespace kw
