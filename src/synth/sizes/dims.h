// Draws sizes of a shaped skeleton, uniformly over all that satisfy its shape rules, the bounds on
// tensors and memory, and the FLOPs window. docs/synthesis.md, "Dims", has the method and its
// proof.
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

  // Returns whether it is proved, at once or by draws that divide, that there is no assignment.
  bool empty() const { return parts_.empty(); }
  // Returns the window's low end: the smaller of the limits' and a quarter of what can be reached.
  double low_flops() const { return low_flops_; }
  double high_flops() const { return problem_.limits().high_flops; }
  // Returns the number of boxes that are proposed from: more than one once assignments were
  // divided.
  size_t parts() const { return parts_.size(); }

  struct Draw {
    std::vector<std::vector<int64_t>> shapes;  // of the skeleton's tensors
    std::vector<int64_t> slots;                // of its SizeProblem: the shapes follow from them
    double flops = 0;
    int64_t tries = 0;
  };
  // Returns a uniform draw; nothing if the tries are used up, or there is no assignment.
  std::optional<Draw> draw(Random& random);

 private:
  struct Part {
    Box box;
    std::unique_ptr<std::vector<Bound>> bounds;
    SizeProposal proposal;
    double mass = 1;     // relative to that of all assignments at first
    double up_to = 1;    // sum of the masses of this part and those before it
    bool whole = false;  // nothing is left by which it could be divided
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
