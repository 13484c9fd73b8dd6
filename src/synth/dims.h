// Sizes of a shaped skeleton, uniformly over all that satisfy its shape rules, the bounds on
// tensors and memory, and the FLOPs window (docs/synthesis.md, "Dims": the method and its proof).
#pragma once

#include <optional>
#include <vector>

#include "synth/proposal.h"
#include "synth/random.h"

namespace kw {

class DimsSpace {
 public:
  DimsSpace(const ShapedSkeleton& skeleton, const DimsLimits& limits);
  DimsSpace(const DimsSpace&) = delete;
  DimsSpace& operator=(const DimsSpace&) = delete;

  // No assignment at all: proved.
  bool empty() const { return proposals_.empty(); }
  // Of the window: the smaller of what the limits say and a quarter of what can be reached.
  double low_flops() const { return low_flops_; }
  double high_flops() const { return problem_.limits().high_flops; }
  // Ways to propose: more than one where assignments were divided.
  size_t proposals() const { return proposals_.size(); }

  struct Draw {
    std::vector<std::vector<int64_t>> shapes;  // of the skeleton's tensors
    std::vector<int64_t> slots;                // of its SizeProblem: what these come from
    double flops = 0;
    int64_t tries = 0;
  };
  // Uniform; nothing when the tries are used up. There must be some assignment.
  std::optional<Draw> draw(Random& random);

 private:
  struct Choice {
    SizeProposal proposal;
    int leading;   // for assignments whose FLOPs hang most on this monomial; -1: for all
    double up_to;  // masses of this and those before it
  };
  const Choice& choose(Random& random) const;
  void divide();

  SizeProblem problem_;
  double low_flops_ = 0;
  Bounds bounds_;
  std::vector<Choice> proposals_;
  bool divided_ = false;
};

}  // namespace kw
