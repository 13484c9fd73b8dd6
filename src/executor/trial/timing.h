// Times programs side by side. Runs are interleaved in random order, inputs rotate, and outputs of
// timed runs are checked. Rounds in which the device was slowed down are left out. A RunClock
// measures single runs.
#pragma once

#include <functional>
#include <vector>

#include "executor/aten/backend.h"
#include "executor/replay/loaded_task.h"
#include "runtime/protocol.h"

namespace kw::exec {

// A run that is timed, and its preparation, which is not.
struct TimedRun {
  std::function<void()> prepare, run;
};

// Measures milliseconds of runs on a device with empty caches and no other work.
class RunClock {
 public:
  virtual ~RunClock() = default;
  // Returns the device time of each run. Runs follow one another, and the device need not wait for
  // the host between them.
  virtual std::vector<double> device_ms(const std::vector<TimedRun>& runs) = 0;
  // Returns the time from the call to its completion.
  virtual double wall_ms(const std::function<void()>& run) = 0;
  // Returns how fast the device's processors run now, by their own clocks, or 0 if that is unknown.
  virtual double processor_mhz() { return 0; }
};

// Uses the host's clock for both. With the interpreter it says nothing about a device; it is for
// tests of what is done with times.
class WallClock : public RunClock {
 public:
  std::vector<double> device_ms(const std::vector<TimedRun>& runs) override;
  double wall_ms(const std::function<void()>& run) override;
};

// Another program of task 0. Its arguments are the task's state, then its inputs.
using Package = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

// Returns the times of `tasks`, then of `packages`. Throws ReplayError if one cannot run.
TimeReport time_runs(Backend& backend, RunClock& clock, const TimeRequest& request,
                     const std::vector<LoadedTask*>& tasks, const std::vector<Package>& packages);

}  // namespace kw::exec
