// Inputs that cross a threshold which a task names (program/inputs/thresholds.h), and which its
// draws do not reach: a clamp at 1000, the limit of a logit scale.
//
// One run of the steps on the CPU tells which thresholds a draw leaves on one side. For such a
// threshold, inputs or parameters that its operand comes from are scaled, first all inputs
// together, then each alone, by larger and larger powers of four, then by smaller and smaller ones.
// The first factor by which a part of the operand's elements lies beyond the threshold is taken. If
// the operand becomes infinite before, it is the factor by which the most elements lie beyond.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "executor/replay/cpu_reference.h"
#include "program/inputs/thresholds.h"
#include "program/program.h"

namespace kw::exec {

// By what tensors are multiplied, by index of the state and of the inputs.
struct Scaling {
  std::map<size_t, double> state, inputs;
};

class CrossedInputs {
 public:
  // `task` must outlive this.
  explicit CrossedInputs(const Task& task) : task_(task), thresholds_(named_thresholds(task)) {}

  // Returns what makes a draw cross a threshold: the one of this index among those that the draw
  // does not cross as it is, counted from a place that the seed draws. The index behind the last of
  // several stands for all of them at once. Throws ReplayError if there is none, or if no factor
  // crosses it. Equal seeds must come with equal draws.
  Scaling scaling(size_t index, const std::vector<at::Tensor>& state,
                  const std::vector<at::Tensor>& inputs, uint64_t seed);
  // Throws ReplayError as scaling() does, if an earlier call showed that there is no such
  // threshold. So nothing has to be drawn.
  void expect(size_t index, uint64_t seed) const;

 private:
  std::vector<size_t> uncrossed(const std::vector<at::Tensor>& state,
                                const std::vector<at::Tensor>& inputs, uint64_t seed) const;
  std::optional<Scaling> search(const Threshold& threshold, const std::vector<at::Tensor>& state,
                                const std::vector<at::Tensor>& inputs, uint64_t seed) const;
  const std::optional<Scaling>& found(size_t threshold, const std::vector<at::Tensor>& state,
                                      const std::vector<at::Tensor>& inputs, uint64_t seed);

  const Task& task_;
  const std::vector<Threshold> thresholds_;
  std::map<uint64_t, std::vector<size_t>> uncrossed_;                    // by seed
  std::map<std::pair<uint64_t, size_t>, std::optional<Scaling>> found_;  // by seed and threshold
};

// Scales what `scaling` says, in place. A storage that several tensors share is scaled once.
void scale(const Scaling& scaling, const std::vector<at::Tensor>& state,
           const std::vector<at::Tensor>& inputs);

}  // namespace kw::exec
