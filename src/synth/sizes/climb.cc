#include <algorithm>

#include "synth/sizes/size_problem.h"

namespace kw {

// From the least assignment, all free sizes up together, or one after the other as far as each
// goes; then exchanges of one for another while that gives more.
double climb_flops(const SizeProblem& problem, double enough) {
  const std::vector<SizeProblem::Free>& free = problem.free();
  const size_t count = free.size();
  double found = 0;
  std::vector<int64_t> slots(problem.slots()), at(count);  // at: which of its values
  double flops = 0;
  const auto allowed = [&] {
    for (size_t i = 0; i < count; ++i) slots[i] = free[i].at(at[i]);
    problem.fill(slots);
    return problem.checked(slots) && problem.bounded(slots, flops);
  };
  const auto last = [&](size_t i) { return free[i].count() - 1; };
  // Where the least values break a check, what it hangs on goes up: few do.
  const auto start = [&] {
    std::fill(at.begin(), at.end(), 0);
    for (size_t i = count; i-- > 0 && !allowed();) {
      if (free[i].few()) at[i] = last(i);
    }
    for (size_t i = 0; i < count && !allowed(); ++i) at[i] = std::min<int64_t>(last(i), 8);
    return allowed();
  };
  const auto reached = [&] { return found >= enough; };
  // Up by a factor, one at least; true if that is allowed.
  const auto raise = [&](size_t i, double factor) {
    const int64_t kept = at[i];
    at[i] = std::min(last(i),
                     std::max(kept + 1, static_cast<int64_t>(static_cast<double>(kept) * factor)));
    if (at[i] > kept && allowed()) return true;
    at[i] = kept;
    return false;
  };
  const auto finish = [&](size_t first) {  // each as far as it goes
    for (size_t k = 0; k < count; ++k) {
      const size_t i = (first + k) % count;
      int64_t low = at[i], high = last(i);
      for (int64_t step = 1; low < high; step *= 2) {  // most go nowhere
        at[i] = std::min(low + step, high);
        if (!allowed()) {
          high = at[i] - 1;
          break;
        }
        low = at[i];
      }
      while (low < high) {
        at[i] = (low + high + 1) / 2;
        if (allowed())
          low = at[i];
        else
          high = at[i] - 1;
      }
      at[i] = low;
    }
    allowed();
    if (flops <= found) return false;
    found = flops;
    return true;
  };
  std::vector<int64_t> best;
  for (size_t order = 0; order <= std::min<size_t>(count, 8) && !reached(); ++order) {
    if (!start()) return found;
    found = std::max(found, flops);
    if (order == 0) {
      for (double factor : {2.0, 1.2, 1.0}) {
        for (bool raised = true; raised;) {
          raised = false;
          for (size_t i = 0; i < count; ++i) raised |= raise(i, factor);
          if (factor == 1.0) break;
        }
      }
    }
    if (finish(order == 0 ? 0 : order - 1) || best.empty()) best = at;
  }
  for (double factor : {2.0, 1.2, 1.02}) {
    for (bool better = true; better && !reached();) {
      better = false;
      for (size_t down = 0; down < count && !reached(); ++down) {
        for (size_t up = 0; up < count; ++up) {
          at = best;
          if (up == down || at[down] == 0) continue;
          at[down] =
              std::min(at[down] - 1, static_cast<int64_t>(static_cast<double>(at[down]) / factor));
          if (allowed() && finish(up)) {
            best = at;
            better = true;
          }
        }
      }
    }
  }
  return found;
}

}  // namespace kw
