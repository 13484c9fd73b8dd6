#include "synth/sizes/climb.h"

#include <algorithm>

namespace kw {
namespace {

// The ascent. An assignment is a vector of indices: which of its values each free size has.
class Climb {
 public:
  Climb(const SizeProblem& problem, double enough)
      : problem_(problem),
        enough_(enough),
        count_(problem.free().size()),
        slots_(problem.slots()),
        at_(count_) {}

  double run() {
    if (climb_from_least()) exchange();
    return found_;
  }

 private:
  int64_t last(size_t i) const { return problem_.free()[i].count() - 1; }
  bool reached() const { return found_ >= enough_; }

  // Returns whether the assignment satisfies all checks and limits; writes its FLOPs.
  bool allowed() {
    for (size_t i = 0; i < count_; ++i) slots_[i] = problem_.free()[i].at(at_[i]);
    problem_.fill(slots_);
    return problem_.checked(slots_) && problem_.bounded(slots_, flops_);
  }

  // Goes to the least assignment. If it breaks a check, raises the sizes of few values, one after
  // the other, and then the others a little. Returns whether the assignment is allowed.
  bool start() {
    std::fill(at_.begin(), at_.end(), 0);
    for (size_t i = count_; i-- > 0 && !allowed();) {
      if (problem_.free()[i].few()) at_[i] = last(i);
    }
    constexpr int64_t kLittle = 8;
    for (size_t i = 0; i < count_ && !allowed(); ++i) at_[i] = std::min(last(i), kLittle);
    return allowed();
  }

  // Raises one size by a factor, and by one value at least. Returns whether that is allowed.
  bool raise(size_t i, double factor) {
    const int64_t kept = at_[i];
    const double higher = static_cast<double>(kept) * factor;
    at_[i] = std::min(last(i), std::max(kept + 1, static_cast<int64_t>(higher)));
    if (at_[i] > kept && allowed()) return true;
    at_[i] = kept;
    return false;
  }

  // Raises all sizes together, in ever smaller steps, and by one value at last.
  void raise_all() {
    for (double factor : {2.0, 1.2, 1.0}) {
      for (bool raised = true; raised;) {
        raised = false;
        for (size_t i = 0; i < count_; ++i) raised |= raise(i, factor);
        if (factor == 1.0) break;
      }
    }
  }

  // Raises one size as far as it goes: in doubling steps, then by bisection.
  void raise_fully(size_t i) {
    int64_t low = at_[i], high = last(i);
    for (int64_t step = 1; low < high; step *= 2) {  // most sizes cannot be raised at all
      at_[i] = std::min(low + step, high);
      if (!allowed()) {
        high = at_[i] - 1;
        break;
      }
      low = at_[i];
    }
    while (low < high) {
      at_[i] = (low + high + 1) / 2;
      if (allowed()) {
        low = at_[i];
      } else {
        high = at_[i] - 1;
      }
    }
    at_[i] = low;
  }

  // Raises each size as far as it goes, beginning with `first`. Returns whether the FLOPs are the
  // most so far.
  bool finish(size_t first) {
    for (size_t k = 0; k < count_; ++k) raise_fully((first + k) % count_);
    allowed();
    if (flops_ <= found_) return false;
    found_ = flops_;
    return true;
  }

  // Climbs from the least assignment: first with all sizes together, then one after the other, with
  // each of the first sizes as the beginning. Returns false if there is no least assignment.
  bool climb_from_least() {
    constexpr size_t kOrders = 8;
    for (size_t order = 0; order <= std::min(count_, kOrders) && !reached(); ++order) {
      if (!start()) return false;
      found_ = std::max(found_, flops_);
      if (order == 0) raise_all();
      if (finish(order == 0 ? 0 : order - 1) || best_.empty()) best_ = at_;
    }
    return true;
  }

  // Lowers one size of the best assignment and raises the others, beginning with `up`. Returns
  // whether that is better.
  bool exchange(size_t down, size_t up, double factor) {
    at_ = best_;
    if (up == down || at_[down] == 0) return false;
    const double lower = static_cast<double>(at_[down]) / factor;
    at_[down] = std::min(at_[down] - 1, static_cast<int64_t>(lower));
    if (!allowed() || !finish(up)) return false;
    best_ = at_;
    return true;
  }

  // Exchanges sizes for each other, in ever smaller steps, as long as that gives more.
  void exchange() {
    for (double factor : {2.0, 1.2, 1.02}) {
      for (bool better = true; better && !reached();) {
        better = false;
        for (size_t down = 0; down < count_ && !reached(); ++down) {
          for (size_t up = 0; up < count_; ++up) better |= exchange(down, up, factor);
        }
      }
    }
  }

  const SizeProblem& problem_;
  const double enough_;
  const size_t count_;               // of free sizes
  std::vector<int64_t> slots_, at_;  // values of all slots; the assignment
  double flops_ = 0;                 // of the assignment that was allowed last
  double found_ = 0;                 // the most so far
  std::vector<int64_t> best_;        // the assignment with `found_`
};

}  // namespace

double climb_flops(const SizeProblem& problem, double enough) {
  return Climb(problem, enough).run();
}

}  // namespace kw
