#include "synth/sizes/dims.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "synth/sizes/climb.h"

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
  // The lower end of the window is left to chance at first: most often that is enough.
  if (std::optional<Part> all = part_of(whole_box(problem_), false)) {
    log2_mass_ = all->proposal.log2_mass();
    all->mass = 1;
    parts_.push_back(std::move(*all));
  }
}

// Nothing where the box has no assignment; with `reaches`, none whose FLOPs reach the window.
std::optional<DimsSpace::Part> DimsSpace::part_of(Box box, bool reaches) const {
  auto bounds = std::make_unique<std::vector<Bound>>();
  std::vector<const Bound*> all;
  for (int round = 0; round < (reaches ? 2 : 1); ++round) {  // a narrower box asks for more
    *bounds = upper_bounds(problem_, box);
    if (reaches) {
      std::optional<std::vector<Bound>> below = lower_bounds(problem_, *bounds, box, low_flops_);
      if (!below) return std::nullopt;
      std::move(below->begin(), below->end(), std::back_inserter(*bounds));
    }
    all.clear();
    for (const Bound& bound : *bounds) all.push_back(&bound);
    if (!narrow(problem_, all, box)) return std::nullopt;
  }
  SizeProposal proposal(problem_, box, std::move(all));
  if (proposal.empty()) return std::nullopt;
  const double mass = portable_exp2(std::max(proposal.log2_mass() - log2_mass_, -1000.0));
  return Part{std::move(box), std::move(bounds), std::move(proposal), mass};
}

// How far a size goes in the box, by logarithm, times the degrees that bounds have in it.
double DimsSpace::reach(const Part& part, size_t size) const {
  const SizeProblem::Free& free = problem_.free()[size];
  const auto [low, high] = part.box[size];
  if (!free.values.empty() || low == high) return 0;
  if (free.few()) return portable_log2(static_cast<double>(high - low + 1));
  int degrees = 0;
  for (const Bound& bound : *part.bounds) degrees += std::abs(bound.degree[size]);
  return portable_log2(static_cast<double>(high) / static_cast<double>(low)) * degrees;
}

// Divides the part with the most proposals in two, by the size with the largest range in it. Each
// half then gets separate bounds, and a half that cannot reach the window is left out. A part that
// cannot be divided is given the window's lower end once, and stays.
void DimsSpace::divide() {
  const auto less = [](const Part& a, const Part& b) {
    return (a.whole ? 0 : a.mass) < (b.whole ? 0 : b.mass);
  };
  const auto most = std::max_element(parts_.begin(), parts_.end(), less);
  constexpr size_t kMostParts = 1000;
  if (most->whole || parts_.size() >= kMostParts) return;
  size_t size = 0;
  double furthest = 0;
  for (size_t i = 0; i < most->box.size(); ++i) {
    const double far = reach(*most, i);
    if (far > furthest) {
      furthest = far;
      size = i;
    }
  }
  std::vector<Box> boxes{most->box};
  if (furthest > 0) {
    const auto [low, high] = most->box[size];
    // Remainders start from 0.
    const double middle =
        std::sqrt(static_cast<double>(std::max<int64_t>(low, 1)) * static_cast<double>(high));
    boxes.push_back(most->box);
    boxes[0][size].high = std::clamp(static_cast<int64_t>(middle), low, high - 1);
    boxes[1][size].low = boxes[0][size].high + 1;
  }
  parts_.erase(most);
  for (Box& box : boxes) {
    std::optional<Part> part = part_of(std::move(box), true);
    if (!part) continue;
    part->whole = furthest == 0;
    parts_.push_back(std::move(*part));
  }
  double total = 0;
  for (Part& part : parts_) part.up_to = total += part.mass;
}

const DimsSpace::Part& DimsSpace::choose(Random& random) const {
  if (parts_.size() == 1) return parts_[0];
  const double at = random.uniform() * parts_.back().up_to;
  const auto found =
      std::upper_bound(parts_.begin(), parts_.end(), at,
                       [](double value, const Part& part) { return value < part.up_to; });
  return found == parts_.end() ? parts_.back() : *found;
}

std::optional<DimsSpace::Draw> DimsSpace::draw(Random& random) {
  const DimsLimits& limits = problem_.limits();
  std::vector<int64_t> slots(problem_.slots());
  Draw drawn;
  int64_t next_division = limits.tries_for_all;
  while (++drawn.tries <= limits.tries && !parts_.empty()) {
    if (drawn.tries > next_division) {
      divide();
      next_division += limits.tries_for_part;
      if (parts_.empty()) break;
    }
    if (!choose(random).proposal.draw(slots, random)) continue;
    problem_.fill(slots);
    if (!problem_.checked(slots) || !problem_.bounded(slots, drawn.flops)) continue;
    if (drawn.flops < low_flops_ || drawn.flops > limits.high_flops) continue;
    drawn.shapes = problem_.shapes(slots);
    drawn.slots = std::move(slots);
    return drawn;
  }
  return std::nullopt;
}

}  // namespace kw
