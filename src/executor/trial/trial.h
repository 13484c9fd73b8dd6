// One trial: a candidate's answer to fresh inputs, measured against its reference
// (protocol.h: TrialRequest -> TrialReport). Decides nothing.
//
// The candidate runs first, on guarded copies of the inputs and with poisoned buffers, when no
// answer exists that it could find; then the reference and its fp64 oracle run on inputs drawn
// again from the seed (on isolated backends: on the masters, which no kernel can reach).
#pragma once

#include "executor/replay/loaded_task.h"
#include "executor/trial/reference_side.h"
#include "runtime/protocol.h"

namespace kw {

class Trials {
 public:
  explicit Trials(Backend& backend) : backend_(backend), cache_(backend.stow_bytes()) {}

  // Failures of either side are statuses; DeviceLost passes through.
  TrialReport run(const TrialRequest& request, LoadedTask& reference, LoadedTask& candidate);
  // A task id is about to mean something else.
  void forget(int task) { cache_.forget(task); }
  // What references gave is made anew where it is needed again.
  void forget_all() { cache_.clear(); }

 private:
  TrialReport attempt(const TrialRequest& request, LoadedTask& reference, LoadedTask& candidate);

  Backend& backend_;
  ReferenceCache cache_;
};

}  // namespace kw
