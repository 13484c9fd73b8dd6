// How programs are timed side by side: interleaved in random order, inputs rotated, outputs of
// timed runs checked, rounds left out in which the device was slowed down. What one run takes is a
// clock's matter.
#pragma once

#include <functional>
#include <vector>

#include "executor/aten/backend.h"
#include "executor/replay/loaded_task.h"
#include "runtime/protocol.h"

namespace kw {

// What is timed, and what comes before it outside of the time.
struct TimedRun {
  std::function<void()> prepare, run;
};

// Milliseconds of runs on a device in its plain state: caches empty, nothing else under way.
class RunClock {
 public:
  virtual ~RunClock() = default;
  // Of each run. They follow one another, and a device need not wait for the host between them.
  virtual std::vector<double> device_ms(const std::vector<TimedRun>& runs) = 0;
  virtual double wall_ms(const std::function<void()>& run) = 0;  // from the call to its completion
  // How fast the device's processors run right now, by their own clocks. 0: nobody knows.
  virtual double processor_mhz() { return 0; }
};

// The host's clock for both. Of the interpreter it says nothing about a device: for tests of what
// is done with times.
class WallClock : public RunClock {
 public:
  std::vector<double> device_ms(const std::vector<TimedRun>& runs) override;
  double wall_ms(const std::function<void()>& run) override;
};

// Another program of task 0: its state, then its inputs.
using Package = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

// Times of `tasks`, then of `packages`. ReplayError when one cannot run.
TimeReport time_runs(Backend& backend, RunClock& clock, const TimeRequest& request,
                     const std::vector<LoadedTask*>& tasks, const std::vector<Package>& packages);

}  // namespace kw
