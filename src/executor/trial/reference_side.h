// What a trial needs of its reference: inputs, outputs, the fp64 oracle's outputs and the
// reference's own errors. Costly and the same for every candidate of a task, so kept under (task,
// seed, how it is varied) within a budget of bytes.
//
// On a backend where a candidate's kernels could reach any memory, nothing of this is there while a
// candidate runs: results are put away (stow.h), and inputs too or drawn again afterwards.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "executor/aten/off_device_store.h"
#include "executor/aten/phases.h"
#include "executor/compare/errors.h"
#include "executor/replay/loaded_task.h"

namespace kw {

struct ReferenceSide {
  std::vector<at::Tensor> outputs, oracle;
  // Outputs of the run that nobody has to be better than (as plain kernels compute), where it is
  // further off than the reference's own; of several (on neighbouring inputs) each element of that
  // in which it is furthest off. Undefined elsewhere.
  std::vector<at::Tensor> rounded;
  // Outputs of a run in which near ties fall the other way, where that changes them.
  std::vector<at::Tensor> fallen;
  // For each of LoadedTask::choices(): ChoiceRule.
  std::vector<at::Tensor> among, slack, found;
  std::vector<at::Tensor> after;  // forward's inputs after the call; undefined if not mutated
  std::vector<at::Tensor> exactly_after;  // the oracle's, of floating ones
  std::vector<double> after_errors;       // RMS of what the reference is off from that
  std::vector<OutputErrors> errors;
  std::vector<double> gaps;  // of floating outputs: scale_gap()
  bool passes_zeros = false, passes_stale = false;
  UpdateOracle update(size_t input) const { return {exactly_after[input], after_errors[input]}; }
  // Every tensor, in one list, and the same with others in their place.
  std::vector<at::Tensor> tensors() const;
  ReferenceSide with(std::vector<at::Tensor> tensors) const;
  // Overwrites what a later kernel could find in freed memory.
  void scrub() const;
};

// Runs reference and oracle. Overwrites inputs of `draw` that the reference mutates. `phases`,
// where there are any, are told what took how long.
ReferenceSide run_reference(LoadedTask& reference, const Draw& draw, uint64_t seed,
                            const Varied& varied, at::Device device, Phases* phases = nullptr);

// A reference side that is put away.
struct CachedReference {
  std::shared_ptr<const Draw> draw;     // of isolated backends
  std::shared_ptr<ReferenceSide> side;  // without its tensors
  std::shared_ptr<const Draw> drawn;    // the same of the inputs; null where they are drawn again
  std::shared_ptr<Stowed> tensors;      // of `side`, then of `drawn`
  int64_t bytes = 0;
};

// Other tasks' entries make room first, least recently used ones before. Of the same task it is the
// newest that leaves: candidates go through trials in order, and so find the first ones each time,
// and those that go through them together the one that they are at.
class ReferenceCache {
 public:
  explicit ReferenceCache(int64_t budget_bytes) : budget_(budget_bytes) {}
  CachedReference find(const ReferenceKey& key);
  // Whether there is, or can be made, room for so much of `task`.
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

}  // namespace kw
