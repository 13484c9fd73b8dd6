// What runs and times tasks: an ExecutorClient, or a test's stand-in that starts no process.
// Torch-free.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "formats/json.h"
#include "program/program.h"
#include "runtime/protocol.h"

namespace kw {

class Executor {
 public:
  virtual ~Executor() = default;
  // Returns what the executor said of itself: "backend", "device", versions. Throws
  // EnvironmentError if it does not start.
  virtual Json hello() = 0;

  virtual int load(Task task) = 0;  // returns an id
  virtual void unload(int id) = 0;
  // Runs trials of one pair, in order, until `take` returns false: it gets each report and its
  // place. `take` must not call the executor.
  using TakeReport = std::function<bool(size_t, TrialReport)>;
  virtual void trials(const std::vector<TrialRequest>& requests, std::chrono::milliseconds deadline,
                      const TakeReport& take) = 0;
  virtual TimeReport time(const TimeRequest& request, std::chrono::milliseconds deadline) = 0;
  virtual ExamineReport examine(const ExamineRequest& request,
                                std::chrono::milliseconds deadline) = 0;
  // Calls `work`, which uses the device by other means, while this executor times nothing. Requests
  // with this first task wait for it. `work` must not call the executor.
  virtual void beside(int task, const std::function<void()>& work) = 0;
  virtual size_t processes() const = 0;
};

}  // namespace kw
