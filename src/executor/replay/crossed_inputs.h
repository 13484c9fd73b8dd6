// Inputs that cross a threshold which a task names (program/inputs/thresholds.h), and which its
// draws do not reach: a clamp at 1000, the limit of a logit scale.
//
// Inputs or parameters that the threshold's operand comes from are scaled, first all inputs
// together, then each alone, by larger and larger powers of four. The first factor by which a part
// of the operand's elements lies beyond the threshold is taken. The search runs the forward steps
// before the threshold, on the CPU.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "executor/replay/cpu_reference.h"
#include "program/inputs/thresholds.h"
#include "program/program.h"

namespace kw::exec {

// What is scaled: indices of state and of inputs.
struct Scaling {
  std::vector<size_t> state, inputs;
  double factor = 1;
};

class CrossedInputs {
 public:
  // `task` must outlive this.
  explicit CrossedInputs(const Task& task)
      : task_(task), thresholds_(named_thresholds(task.forward)) {}

  // Returns what makes a draw cross the threshold of this index. Throws ReplayError if the draw
  // crosses it as it is, if no factor does, or if the task takes no such inputs. Equal seeds must
  // come with equal draws.
  Scaling scaling(size_t threshold, const std::vector<at::Tensor>& state,
                  const std::vector<at::Tensor>& inputs, uint64_t seed);

 private:
  Scaling search(const Threshold& threshold, const std::vector<at::Tensor>& state,
                 const std::vector<at::Tensor>& inputs, uint64_t seed) const;

  const Task& task_;
  const std::vector<Threshold> thresholds_;
  std::map<std::pair<uint64_t, size_t>, std::optional<Scaling>> found_;  // by seed and threshold
};

// Scales what `scaling` says, in place. A storage that several tensors share is scaled once.
void scale(const Scaling& scaling, const std::vector<at::Tensor>& state,
           const std::vector<at::Tensor>& inputs);

}  // namespace kw::exec
