#include "synth/sizes/proposal.h"

#include <algorithm>
#include <cmath>

namespace kw {
namespace {

// log2 of a number of assignments, those of free sizes of few values aside, that means none.
constexpr double kNone = -100;

}  // namespace

SizeProposal::SizeProposal(const SizeProblem& problem, const Box& box,
                           std::vector<const Bound*> bounds)
    : problem_(&problem),
      bounds_(std::move(bounds)),
      sources_(problem.free().size()),
      is_last_(problem.free().size()) {
  for (size_t i = 0; i < sources_.size(); ++i) {
    sources_[i].low = box[i].low;
    sources_[i].high = box[i].high;
  }
  choose_last();
  choose_weights();
}

// Sizes that no bound has together, and each to the first degree: given the others, each may be
// anything in an interval.
void SizeProposal::choose_last() {
  if (by_log()) return;  // what the others leave would have to be weighed
  const std::vector<SizeProblem::Free>& free = problem_->free();
  std::vector<size_t> order;
  for (size_t i = 0; i < free.size(); ++i) {
    const bool plain = std::all_of(bounds_.begin(), bounds_.end(), [&](const Bound* bound) {
      return std::abs(bound->degree[i]) <= 1;
    });
    if (!free[i].few() && plain) order.push_back(i);
  }
  const auto held = [&](size_t i) {
    return std::count_if(bounds_.begin(), bounds_.end(),
                         [&](const Bound* bound) { return bound->degree[i] != 0; });
  };
  // Those of few bounds first: so there are more.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(held(a), -sources_[a].high) < std::pair(held(b), -sources_[b].high);
  });
  std::vector<const Bound*> used;
  for (size_t i : order) {
    Last last{static_cast<int>(i), {}, {}};
    bool alone = true;
    for (const Bound* bound : bounds_) {
      if (bound->degree[i] == 0) continue;
      (bound->degree[i] > 0 ? last.above : last.below).push_back(bound);
      alone = alone && std::find(used.begin(), used.end(), bound) == used.end();
    }
    if (!alone) continue;
    used.insert(used.end(), last.above.begin(), last.above.end());
    used.insert(used.end(), last.below.begin(), last.below.end());
    is_last_[i] = 1;
    last_.push_back(std::move(last));
  }
}

// Proposes sizes of this tilt: by their weight over size^tilt.
const PowerTable& SizeProposal::table(size_t size, int tilt) const {
  return PowerTable::of(sources_[size].low > 1 ? 2 : 1, tilt + (by_log() ? 8 : 0));
}

// Chooses a weight for each bound. A size's tilt is the sum, over bounds, of weight times the
// size's degree in the bound. For any weights and every assignment, the product of all size^tilt is
// at most top, the product of all bound^weight. The weights minimise top times the sum over all
// proposals of size^-tilt, in steps of an eighth, so that proposals are likely to be taken.
void SizeProposal::choose_weights() {
  const std::vector<SizeProblem::Free>& free = problem_->free();
  const size_t count = free.size();
  std::vector<int> weights(bounds_.size()), tilt(count);
  // log2 of top, and of the sum over proposals.
  const auto log2_top = [&] {
    double sum = 0;
    for (size_t cap = 0; cap < bounds_.size(); ++cap) {
      sum += weights[cap] * bounds_[cap]->log2_limit / 8;
    }
    return sum;
  };
  const auto log2_sum = [&](size_t i) {
    if (is_last_[i]) {
      return (1 - tilt[i] / 8.0) * portable_log2(static_cast<double>(sources_[i].high));
    }
    if (!free[i].values.empty()) return 0.0;  // all parts have them
    if (free[i].few()) {
      return portable_log2(static_cast<double>(sources_[i].high - sources_[i].low + 1));
    }
    return portable_log2(table(i, tilt[i]).total(sources_[i].low, sources_[i].high));
  };
  std::vector<double> sums(count);
  for (size_t i = 0; i < count; ++i) sums[i] = log2_sum(i);
  const auto cost = [&] {
    double sum = log2_top();
    for (double each : sums) sum += each;
    return sum;
  };
  double best = cost();
  // Moves some weights, keeps what is better.
  const auto move = [&](std::initializer_list<std::pair<size_t, int>> changes) {
    const auto change = [&](int sign) {
      for (auto [cap, by] : changes) {
        weights[cap] += sign * by;
        for (size_t i = 0; i < count; ++i) tilt[i] += sign * by * bounds_[cap]->degree[i];
      }
    };
    change(1);
    bool fits = true;
    for (auto [cap, by] : changes) fits = fits && weights[cap] >= 0;
    for (size_t i = 0; i < count; ++i) {
      const int most = is_last_[i] ? 8 : PowerTable::kMost - (by_log() ? 8 : 0);
      fits = fits && tilt[i] >= PowerTable::kLeast && tilt[i] <= most;
    }
    if (fits) {
      const std::vector<double> before = sums;
      for (auto [cap, by] : changes) {
        for (size_t i = 0; i < count; ++i) {
          if (bounds_[cap]->degree[i] != 0) sums[i] = log2_sum(i);
        }
      }
      const double now = cost();
      if (now < best - 1e-6) {
        best = now;
        return true;
      }
      sums = before;
    }
    change(-1);
    return false;
  };
  for (int step = 8; step >= 1; step /= 2) {
    for (bool moved = true; moved && best > kNone;) {
      moved = false;
      for (size_t i = 0; i < bounds_.size(); ++i) {
        moved |= move({{i, step}}) || move({{i, -step}});
        for (size_t j = 0; j < bounds_.size(); ++j) {
          if (i != j && weights[j] >= step) moved |= move({{i, step}, {j, -step}});
        }
      }
    }
  }
  if (best <= kNone) {
    empty_ = true;
    return;
  }
  log2_mass_ = best;
  double log2_most = log2_top();
  for (size_t i = 0; i < count; ++i) log2_most += is_last_[i] ? sums[i] : 0;
  top_ = portable_exp2(log2_most) * (1 + 1e-9);
  for (size_t i = 0; i < count; ++i) {
    if (free[i].few() || is_last_[i]) continue;
    Source& source = sources_[i];
    source.table = &table(i, tilt[i]);
    source.share = source.table->share(source.low, source.high);
  }
}

// Returns the product that a bound is on, without the size `but`.
double SizeProposal::product(const Bound& bound, int but, const std::vector<int64_t>& slots) const {
  double product = 1;
  for (size_t i = 0; i < bound.degree.size(); ++i) {
    if (static_cast<int>(i) == but) continue;
    for (int k = 0; k < std::abs(bound.degree[i]); ++k) product *= static_cast<double>(slots[i]);
  }
  return product;
}

// Draws the sizes that come last, and multiplies `weight` by their numbers of choices.
bool SizeProposal::draw_last(std::vector<int64_t>& slots, double& weight, Random& random) const {
  for (const Last& last : last_) {
    int64_t low = sources_[last.size].low, high = sources_[last.size].high;
    for (const Bound* bound : last.above) {
      high = std::min(high, static_cast<int64_t>(bound->limit / product(*bound, last.size, slots)));
    }
    for (const Bound* bound : last.below) {  // 1 / product <= limit
      low = std::max(low, static_cast<int64_t>(
                              std::ceil(1 / (bound->limit * product(*bound, last.size, slots)))));
    }
    if (low > high) return false;
    const int64_t choices = high - low + 1;
    weight *= static_cast<double>(choices);
    slots[last.size] = low + static_cast<int64_t>(random.below(choices));
  }
  return true;
}

bool SizeProposal::draw(std::vector<int64_t>& slots, Random& random) const {
  double weight = 1;
  for (size_t i = 0; i < sources_.size(); ++i) {
    const Source& source = sources_[i];
    const SizeProblem::Free& free = problem_->free()[i];
    if (source.table) {
      slots[i] = source.table->draw(source.low, source.high, source.share, random);
      weight *= source.table->power(slots[i]);
      if (by_log()) weight /= static_cast<double>(slots[i]);
    } else if (!is_last_[i]) {
      const bool listed = !free.values.empty();
      const auto count = listed ? free.count() : source.high - source.low + 1;
      const auto at = static_cast<int64_t>(random.below(count));
      slots[i] = listed ? free.at(at) : source.low + at;
      if (by_log() && free.low > 0) {
        weight *= static_cast<double>(free.low) / static_cast<double>(slots[i]);
      }
    }
  }
  return draw_last(slots, weight, random) && random.uniform() * top_ < weight;
}

}  // namespace kw
