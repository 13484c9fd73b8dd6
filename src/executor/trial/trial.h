// A trial measures a candidate's answer to fresh inputs against its reference (protocol.h:
// TrialRequest -> TrialReport). It decides nothing.
//
// The candidate runs first, on guarded copies of the inputs and with poisoned buffers, when no
// answer exists that it could find. Then the reference and its fp64 oracle run on inputs that are
// drawn again from the seed. On isolated backends they run on the original draw, which no kernel
// can reach.
#pragma once

#include "executor/replay/loaded_task.h"
#include "executor/trial/reference_side.h"
#include "runtime/protocol.h"

namespace kw::exec {

class Trials {
 public:
  explicit Trials(Backend& backend) : backend_(backend), cache_(backend.off_device_bytes()) {}

  // Runs a trial. Failures of either side become statuses; only DeviceLost is thrown.
  TrialReport run(const TrialRequest& request, LoadedTask& reference, LoadedTask& candidate);
  // Drops what is kept of a task whose id is about to mean another one.
  void forget(int task) { cache_.forget(task); }
  // Drops everything that is kept. References run again when they are needed again.
  void forget_all() { cache_.clear(); }

 private:
  TrialReport attempt(const TrialRequest& request, LoadedTask& reference, LoadedTask& candidate);

  Backend& backend_;
  ReferenceCache cache_;
};

}  // namespace kw::exec
