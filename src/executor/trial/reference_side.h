// What a trial needs of its reference: inputs, outputs, the fp64 oracle's outputs, and the
// reference's own errors. They are costly and the same for every candidate of a task. So they are
// kept by task, seed and variation, within a budget of bytes.
//
// If a candidate's kernels can reach any memory, none of this is in reach while a candidate runs.
// Results are stored off the device (off_device_store.h). Inputs are stored too, or drawn again.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "executor/aten/off_device_store.h"
#include "executor/aten/phases.h"
#include "executor/compare/errors.h"
#include "executor/replay/loaded_task.h"

namespace kw::exec {

// One output of the reference.
struct OutputSide {
  at::Tensor reference, oracle;
  // The output of a run that no candidate has to be better than, because it computes as plain
  // kernels do. Of several such runs, on perturbed inputs, each element is the one furthest off.
  // Undefined if no run is further off than `reference`.
  at::Tensor as_kernels = {};
  // The output of a run in which near ties are flipped. Undefined if that changes nothing.
  at::Tensor ties_flipped = {};
  double gap = 0;  // scale_gap() of a floating output
  OutputErrors errors = {};

  // Returns the output whose errors a candidate may have.
  const at::Tensor& furthest_off() const { return as_kernels.defined() ? as_kernels : reference; }
};

// One input of the reference's forward.
struct InputSide {
  at::Tensor after;    // its value after the call; undefined if the call does not change it
  UpdateOracle exact;  // for floating inputs that the call changes
};

struct ReferenceSide {
  std::vector<OutputSide> outputs;
  std::vector<DiscreteRule> rules;  // one for each of LoadedTask::discrete_outputs()
  std::vector<InputSide> inputs;
  bool passes_zeros = false, passes_stale = false;

  // Returns all tensors in one list.
  std::vector<at::Tensor> tensors() const;
  // Returns a copy with other tensors, listed in the order of tensors().
  ReferenceSide with(std::vector<at::Tensor> tensors) const;
  // Overwrites what a later kernel could find in freed memory.
  void scrub() const;
};

// Runs the reference and its oracle. Overwrites inputs of `draw` that the reference mutates. If
// `phases` is given, the seconds of each run are added to it.
ReferenceSide run_reference(LoadedTask& reference, const Draw& draw, uint64_t seed,
                            const Varied& varied, at::Device device, Phases* phases = nullptr);

// A reference side that is stored off the device.
struct CachedReference {
  std::shared_ptr<const Draw> draw;         // on isolated backends
  std::shared_ptr<ReferenceSide> side;      // without its tensors
  std::shared_ptr<const Draw> drawn;        // inputs without tensors; null if they are drawn again
  std::shared_ptr<OffDeviceStore> tensors;  // those of `side`, then those of `drawn`
  int64_t bytes = 0;
};

// Keeps reference sides within a budget. Entries of other tasks make room first, the least recently
// used one before the others. Within a task the newest entry leaves: candidates go through trials
// in order, so each of them finds the first trials. Candidates that go through them side by side
// find the trial that they are at.
class ReferenceCache {
 public:
  explicit ReferenceCache(int64_t budget_bytes) : budget_(budget_bytes) {}
  CachedReference find(const ReferenceKey& key);
  // Makes room for `bytes` of `task`. Returns false if that is impossible.
  bool make_room(int task, int64_t bytes);
  void put(const ReferenceKey& key, CachedReference entry);
  void forget(int task);
  void clear();
  int64_t bytes() const { return bytes_; }

 private:
  struct Entry {
    ReferenceKey key;
    CachedReference value;
    uint64_t added;  // its number among all that were put
  };
  int64_t budget_, bytes_ = 0;
  uint64_t added_ = 0;
  std::list<Entry> entries_;  // most recent first
};

}  // namespace kw::exec
