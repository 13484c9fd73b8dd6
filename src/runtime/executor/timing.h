// How programs are timed side by side: interleaved in random order, inputs rotated, outputs of
// timed runs checked, rounds left out in which the device was slowed down. What one run takes is a
// clock's matter.
#pragma once

#include <functional>
#include <vector>

#include "runtime/executor/backend.h"
#include "runtime/executor/loaded_task.h"
#include "runtime/protocol.h"

namespace kw {

// Milliseconds of one run on a device in its plain state: nothing under way, caches empty.
class RunClock {
 public:
  virtual ~RunClock() = default;
  virtual double device_ms(const std::function<void()>& run) = 0;
  virtual double wall_ms(const std::function<void()>& run) = 0;  // from the call to its completion
  // How fast the device's processors run right now, by their own clocks. 0: nobody knows.
  virtual double processor_mhz() { return 0; }
};

// The host's clock for both. Of the interpreter it says nothing about a device: for tests of what
// is done with times.
class WallClock : public RunClock {
 public:
  double device_ms(const std::function<void()>& run) override;
  double wall_ms(const std::function<void()>& run) override;
};

// Another program of task 0: its state, then its inputs.
using Package = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>&)>;

// Times of `tasks`, then of `packages`. ReplayError when one cannot run.
TimeReport time_runs(Backend& backend, RunClock& clock, const TimeRequest& request,
                     const std::vector<LoadedTask*>& tasks, const std::vector<Package>& packages);

}  // namespace kw
