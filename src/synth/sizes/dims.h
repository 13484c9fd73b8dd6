// Sizes of a shaped skeleton, uniformly over all that satisfy its shape rules, the bounds on
// tensors and memory, and the FLOPs window (docs/synthesis.md, "Dims": the method and its proof).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "synth/sizes/proposal.h"
#include "synth/skeleton/random.h"

namespace kw {

class DimsSpace {
 public:
  DimsSpace(const ShapedSkeleton& skeleton, const DimsLimits& limits);
  DimsSpace(const DimsSpace&) = delete;
  DimsSpace& operator=(const DimsSpace&) = delete;

  // No assignment at all: proved, at once or by draws that divide.
  bool empty() const { return parts_.empty(); }
  // Of the window: the smaller of what the limits say and a quarter of what can be reached.
  double low_flops() const { return low_flops_; }
  double high_flops() const { return problem_.limits().high_flops; }
  // Boxes that are proposed from: more than one where assignments were divided.
  size_t parts() const { return parts_.size(); }

  struct Draw {
    std::vector<std::vector<int64_t>> shapes;  // of the skeleton's tensors
    std::vector<int64_t> slots;                // of its SizeProblem: what these come from
    double flops = 0;
    int64_t tries = 0;
  };
  // Uniform; nothing when the tries are used up, or there is no assignment.
  std::optional<Draw> draw(Random& random);

 private:
  struct Part {
    Box box;
    std::unique_ptr<std::vector<Bound>> bounds;
    SizeProposal proposal;
    double mass = 1;     // over that of all assignments at first
    double up_to = 1;    // masses of this and those before it
    bool whole = false;  // it has nothing to be divided by
  };
  std::optional<Part> part_of(Box box, bool reaches) const;
  const Part& choose(Random& random) const;
  double reach(const Part& part, size_t size) const;
  void divide();

  SizeProblem problem_;
  double low_flops_ = 0;
  double log2_mass_ = 0;  // of all assignments at first
  std::vector<Part> parts_;
};

}  // namespace kw
