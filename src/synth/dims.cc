#include "synth/dims.h"

#include <algorithm>
#include <utility>

namespace kw {

DimsSpace::DimsSpace(const ShapedSkeleton& skeleton, const DimsLimits& limits)
    : problem_(skeleton, limits) {
  if (problem_.empty()) return;
  if (limits.halve_low) {
    const double most = climb_flops(problem_, limits.low_flops);
    for (low_flops_ = limits.low_flops; low_flops_ > most;) low_flops_ /= 2;
  } else {
    // A program that reaches four times the lower end keeps it: how much more it can says nothing.
    low_flops_ = std::min(limits.low_flops, climb_flops(problem_, 4 * limits.low_flops) / 4);
  }
  bounds_ = find_bounds(problem_, low_flops_);
  std::vector<const Bound*> all;
  for (const Bound& bound : bounds_.above) all.push_back(&bound);
  SizeProposal proposal(problem_, std::move(all));
  if (!proposal.empty()) proposals_.push_back({std::move(proposal), -1, 1});
}

// One proposal for each monomial that may lead, where they propose less than the one for all does;
// an assignment is then taken from the one that leads in it.
void DimsSpace::divide() {
  divided_ = true;
  const double all = proposals_[0].proposal.log2_mass();
  std::vector<Choice> choices;
  double total = 0;  // over what the one for all proposes
  for (const auto& [leading, floor] : bounds_.leading) {
    std::vector<const Bound*> bounds{&floor};
    for (const Bound& bound : bounds_.above) bounds.push_back(&bound);
    SizeProposal proposal(problem_, std::move(bounds));
    if (proposal.empty()) continue;
    total += portable_exp2(std::max(proposal.log2_mass() - all, -1000.0));
    if (total >= 1 && problem_.limits().tries_for_all > 0) return;
    choices.push_back({std::move(proposal), leading, total});
  }
  if (!choices.empty()) proposals_ = std::move(choices);
}

const DimsSpace::Choice& DimsSpace::choose(Random& random) const {
  if (proposals_.size() == 1) return proposals_[0];
  const double at = random.uniform() * proposals_.back().up_to;
  for (const Choice& choice : proposals_) {
    if (at < choice.up_to) return choice;
  }
  return proposals_.back();
}

std::optional<DimsSpace::Draw> DimsSpace::draw(Random& random) {
  const DimsLimits& limits = problem_.limits();
  std::vector<int64_t> slots(problem_.slots());
  Draw drawn;
  while (++drawn.tries <= limits.tries) {
    // The lower end of the window is left to chance at first: most often that is enough.
    if (drawn.tries > limits.tries_for_all && !divided_) divide();
    const Choice& choice = choose(random);
    if (!choice.proposal.draw(slots, random)) continue;
    problem_.fill(slots);
    int leading = -1;
    if (!problem_.checked(slots) || !problem_.bounded(slots, drawn.flops, &leading)) continue;
    if (drawn.flops < low_flops_ || drawn.flops > limits.high_flops) continue;
    if (choice.leading >= 0 && leading != choice.leading) continue;
    drawn.shapes = problem_.shapes(slots);
    drawn.slots = std::move(slots);
    return drawn;
  }
  return std::nullopt;
}

}  // namespace kw
