// A way to propose assignments: free sizes one by one with powers for their weights, then some that
// are uniform in what the bounds leave to them (docs/synthesis.md, "Dims").
#pragma once

#include <vector>

#include "synth/sizes/bounds.h"
#include "synth/sizes/powers.h"

namespace kw {

class SizeProposal {
 public:
  // Good for the assignments of the box within `bounds`, which are borrowed, as the problem is.
  SizeProposal(const SizeProblem& problem, const Box& box, std::vector<const Bound*> bounds);

  // None is within the bounds: proved.
  bool empty() const { return empty_; }
  // log2 of what all assignments can weigh at most, free sizes of few values aside: what is
  // proposed is taken as often as they weigh so much.
  double log2_mass() const { return log2_mass_; }
  // Writes the free sizes. False: not taken. What is taken has the probability of its weight over
  // the mass.
  bool draw(std::vector<int64_t>& slots, Random& random) const;

 private:
  struct Source {                       // of a free size
    const PowerTable* table = nullptr;  // null: of few values, or drawn last
    int64_t low = 1, high = 1;
    double share = 1;
  };
  struct Last {  // a free size that is drawn last
    int size;
    std::vector<const Bound*> above, below;
  };

  void choose_last();
  void choose_weights();
  bool draw_last(std::vector<int64_t>& slots, double& weight, Random& random) const;
  double product(const Bound& bound, int but, const std::vector<int64_t>& slots) const;
  bool by_log() const { return problem_->limits().log_measure; }
  const PowerTable& table(size_t size, int tilt) const;

  const SizeProblem* problem_;
  std::vector<const Bound*> bounds_;
  std::vector<Source> sources_;
  std::vector<Last> last_;
  std::vector<char> is_last_;
  double top_ = 1;  // no weight of a proposal is larger
  double log2_mass_ = 0;
  bool empty_ = false;
};

}  // namespace kw
