// Proposes assignments: draws free sizes one by one with powers for their weights, and then some
// uniformly in what the bounds leave to them (docs/synthesis.md, "Dims").
#pragma once

#include <vector>

#include "synth/sizes/bounds.h"
#include "synth/sizes/powers.h"

namespace kw {

class SizeProposal {
 public:
  // Proposes assignments of the box within `bounds`. Borrows the problem and the bounds.
  SizeProposal(const SizeProblem& problem, const Box& box, std::vector<const Bound*> bounds);

  // Returns whether it is proved that no assignment is within the bounds.
  bool empty() const { return empty_; }
  // Returns log2 of the most that all assignments can weigh, without free sizes of few values. The
  // share of proposals that are taken is the weight of all assignments over this mass.
  double log2_mass() const { return log2_mass_; }
  // Draws the free sizes. Returns false if the proposal is not taken. Each assignment is taken with
  // the probability of its weight over the mass.
  bool draw(std::vector<int64_t>& slots, Random& random) const;

 private:
  struct Source {                       // of a free size
    const PowerTable* table = nullptr;  // null if the size has few values or is drawn last
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
