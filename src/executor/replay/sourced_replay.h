// A Program of inputs that runs again on changed sources (program/inputs/sources.h): what belongs
// together, such as lengths and masks, or the two halves of a table, still does.
#pragma once

#include <functional>
#include <vector>

#include "executor/replay/replay.h"
#include "program/inputs/sources.h"

namespace kw::exec {

class SourcedReplay {
 public:
  // `task` and `set` must outlive this.
  SourcedReplay(const Task& task, KernelSet* set, at::Device device);

  const SourcedInputs& split() const { return split_; }
  // Changes the sources in place, in the order of split().sources.
  using Change = std::function<void(const std::vector<at::Tensor>& sources)>;
  // Returns the inputs for a state. They differ from those of the whole Program by `change` alone.
  // Throws ReplayError if some step does not take what the sources have become.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& state, uint64_t seed,
                              const Change& change);

 private:
  const SourcedInputs split_;
  Replay sources_, rest_;
};

}  // namespace kw::exec
