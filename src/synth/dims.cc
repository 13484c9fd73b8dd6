#include "synth/dims.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "synth/powers.h"

namespace kw {
namespace {

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && a < 0); }

// Free sizes with so few values are drawn uniformly: a power would gain little.
constexpr int64_t kFew = 64;

// log2 of a number of assignments, those of free sizes with few values aside, that means none.
constexpr double kNone = -100;

}  // namespace

int64_t DimsSpace::Free::count() const {
  return values.empty() ? high - low + 1 : static_cast<int64_t>(values.size());
}

int64_t DimsSpace::Free::at(int64_t i) const { return values.empty() ? low + i : values[i]; }

// Free sizes have got their slots before.
int DimsSpace::slot(const Sizes& sizes, SizeId size) {
  size = sizes.resolve(size);
  if (slot_of_[size] >= 0) return slot_of_[size];
  const Sizes::Node& node = sizes.node(size);
  Instruction made{node.kind, -1, -1, node.add, node.div, node.mul, node.plus};
  if (node.a >= 0) made.a = slot(sizes, node.a);
  if (node.b >= 0) made.b = slot(sizes, node.b);
  code_.push_back(made);
  return slot_of_[size] = static_cast<int>(free_.size() + code_.size()) - 1;
}

DimsSpace::Product DimsSpace::product(const Sizes& sizes, const Shape& shape) {
  Product made{-1, 1};
  std::vector<int> slots;
  for (SizeId size : shape) {
    const Sizes::Node& node = sizes.node(sizes.resolve(size));
    if (node.kind == Sizes::Kind::kConstant) {
      made.factor *= static_cast<double>(node.plus);
    } else {
      slots.push_back(slot(sizes, size));
    }
  }
  std::sort(slots.begin(), slots.end());
  for (made.monomial = 0; made.monomial < static_cast<int>(monomials_.size()); ++made.monomial) {
    if (monomials_[made.monomial].slots == slots) return made;
  }
  monomials_.push_back({std::move(slots), 0, 0, 0});
  return made;
}

void DimsSpace::compile(const ShapedSkeleton& skeleton) {
  const Sizes& sizes = skeleton.sizes;
  std::vector<SizeId> roots;
  for (const Shape& tensor : skeleton.tensors) {
    for (SizeId size : tensor) sizes.roots(size, roots);
  }
  for (const Sizes::Check& check : sizes.checks()) sizes.roots(check.size, roots);
  slot_of_.assign(sizes.count(), -1);
  for (SizeId root : roots) {
    const Sizes::Variable& variable = sizes.variable_of(root);
    slot_of_[root] = static_cast<int>(free_.size());
    free_.push_back({variable.low, variable.high, variable.values});
  }
  std::map<int, Check> checks;
  const auto check = [&](SizeId size, int64_t low, int64_t high) {
    const int at = slot(sizes, size);
    if (at < static_cast<int>(free_.size())) {
      free_[at].low = std::max(free_[at].low, low);
      free_[at].high = std::min(free_[at].high, high);
      return;
    }
    Check& known = checks.try_emplace(at, Check{at, low, high}).first->second;
    known.low = std::max(known.low, low);
    known.high = std::min(known.high, high);
  };
  for (const Shape& tensor : skeleton.tensors) {
    std::vector<Dim> dims;
    for (SizeId size : tensor) {
      const Sizes::Node& node = sizes.node(sizes.resolve(size));
      if (node.kind == Sizes::Kind::kConstant) {
        if (node.plus < 1 || node.plus > Sizes::kMost) empty_ = true;
        dims.push_back({-1, node.plus});
      } else {
        dims.push_back({slot(sizes, size), 0});
        check(size, 1, Sizes::kMost);
      }
    }
    tensors_.push_back(std::move(dims));
    const Product elements = product(sizes, tensor);
    Monomial& monomial = monomials_[elements.monomial];
    monomial.largest = std::max(monomial.largest, elements.factor);
    monomial.total += elements.factor;
  }
  for (const Sizes::Check& each : sizes.checks()) check(each.size, each.low, each.high);
  for (const auto& [at, each] : checks) checks_.push_back(each);
  for (const FlopsTerm& each : skeleton.flops) {
    Term term{each.coefficient, product(sizes, each.a), {}};
    monomials_[term.a.monomial].flops += term.coefficient * term.a.factor;
    if (!each.b.empty()) term.b = product(sizes, each.b);
    if (term.b.monomial == term.a.monomial) {
      if (term.b.factor > term.a.factor) {
        monomials_[term.a.monomial].flops += term.coefficient * (term.b.factor - term.a.factor);
        term.a.factor = term.b.factor;
      }
      term.b = {};
    } else if (term.b.monomial >= 0) {
      monomials_[term.b.monomial].flops += term.coefficient * term.b.factor;
    }
    terms_.push_back(term);
  }
}

void DimsSpace::fill(std::vector<int64_t>& slots) const {
  size_t at = free_.size();
  for (const Instruction& made : code_) {
    int64_t& out = slots[at++];
    switch (made.kind) {
      case Sizes::Kind::kAffine:
        out = slots[made.a] + made.add;
        if (made.div != 1) out = floor_div(out, made.div);
        out = made.mul * out + made.plus;
        break;
      case Sizes::Kind::kSum:
        out = slots[made.a] + slots[made.b];
        break;
      case Sizes::Kind::kSplit:
        out = made.mul * slots[made.a] + made.plus + slots[made.b];
        break;
      default:
        out = made.plus;
    }
  }
}

bool DimsSpace::checked(const std::vector<int64_t>& slots) const {
  return std::all_of(checks_.begin(), checks_.end(), [&](const Check& check) {
    return slots[check.slot] >= check.low && slots[check.slot] <= check.high;
  });
}

// Sizes have been checked. False where a bound on tensors, memory or FLOPs is passed. `largest` is
// the monomial that most of the FLOPs hang on.
bool DimsSpace::bounded(const std::vector<int64_t>& slots, double& flops, int* largest) const {
  double total = 0;
  thread_local std::vector<double> products, shares;
  products.resize(monomials_.size());
  for (size_t i = 0; i < monomials_.size(); ++i) {
    const Monomial& monomial = monomials_[i];
    double value = 1;
    for (int at : monomial.slots) value *= static_cast<double>(slots[at]);
    products[i] = value;
    if (value * monomial.largest > limits_.tensor) return false;
    total += value * monomial.total;
  }
  if (total > limits_.total) return false;
  flops = 0;
  shares.assign(monomials_.size(), 0);
  for (const Term& term : terms_) {
    const Product* larger = &term.a;
    if (term.b.monomial >= 0 &&
        products[term.b.monomial] * term.b.factor > products[term.a.monomial] * term.a.factor) {
      larger = &term.b;
    }
    const double operations = term.coefficient * (products[larger->monomial] * larger->factor);
    flops += operations;
    shares[larger->monomial] += operations;
  }
  if (largest) {
    *largest = static_cast<int>(std::max_element(shares.begin(), shares.end()) - shares.begin());
  }
  return true;
}

bool DimsSpace::satisfied(const std::vector<int64_t>& values, double& flops) const {
  std::vector<int64_t> slots(values);
  slots.resize(free_.size() + code_.size());
  fill(slots);
  return checked(slots) && bounded(slots, flops) && flops >= low_flops_ &&
         flops <= limits_.high_flops;
}

// Lows that some check needs whatever the rest is, and highs so. False: there is no assignment.
bool DimsSpace::tighten() {
  std::vector<int64_t>&least = least_, &most = most_;
  least.resize(free_.size() + code_.size());
  most.resize(least.size());
  for (int round = 0; round < 4; ++round) {
    for (size_t i = 0; i < free_.size(); ++i) {
      Free& free = free_[i];
      std::erase_if(free.values, [&](int64_t v) { return v < free.low || v > free.high; });
      if (free.low > free.high) return false;
      if (!free.values.empty()) free.low = free.values.front(), free.high = free.values.back();
      least[i] = free.low;
      most[i] = free.high;
    }
    fill(least);
    fill(most);
    bool changed = false;
    for (const Check& check : checks_) {
      if (most[check.slot] < check.low || least[check.slot] > check.high) return false;
      if (least[check.slot] >= check.low && most[check.slot] <= check.high) continue;
      for (size_t i = 0; i < free_.size(); ++i) {
        Free& free = free_[i];
        if (!free.values.empty()) continue;
        const auto reaches = [&](std::vector<int64_t>& slots, int64_t value) {
          const int64_t kept = std::exchange(slots[i], value);
          fill(slots);
          const int64_t reached = slots[check.slot];
          slots[i] = kept;
          return reached;
        };
        if (least[check.slot] < check.low && reaches(most, free.low) < check.low) {
          int64_t low = free.low, high = free.high;  // low is too low, high is not
          while (high - low > 1) {
            const int64_t middle = (low + high) / 2;
            (reaches(most, middle) < check.low ? low : high) = middle;
          }
          free.low = high;
          changed = true;
        }
        if (most[check.slot] > check.high && reaches(least, free.high) > check.high) {
          int64_t low = free.low, high = free.high;
          while (high - low > 1) {
            const int64_t middle = (low + high) / 2;
            (reaches(least, middle) > check.high ? high : low) = middle;
          }
          free.high = low;
          changed = true;
        }
        fill(least);
        fill(most);
      }
    }
    if (!changed) return true;
  }
  for (size_t i = 0; i < free_.size(); ++i) least[i] = free_[i].low, most[i] = free_[i].high;
  fill(least);
  fill(most);
  return true;
}

// A large value of FLOPs under all bounds but the window: from the least assignment, all free sizes
// up together, or one after the other as far as each goes; then exchanges of one for another while
// that gives more.
void DimsSpace::climb() {
  const size_t count = free_.size();
  std::vector<int64_t> slots(count + code_.size()), at(count);  // at: which of its values
  double flops = 0;
  const auto allowed = [&] {
    for (size_t i = 0; i < count; ++i) slots[i] = free_[i].at(at[i]);
    fill(slots);
    return checked(slots) && bounded(slots, flops);
  };
  const auto last = [&](size_t i) { return free_[i].count() - 1; };
  // Where the least values break a check, what it hangs on goes up: few do.
  const auto start = [&] {
    std::fill(at.begin(), at.end(), 0);
    for (size_t i = count; i-- > 0 && !allowed();) {
      if (free_[i].count() <= kFew) at[i] = last(i);
    }
    for (size_t i = 0; i < count && !allowed(); ++i) at[i] = std::min<int64_t>(last(i), 8);
    return allowed();
  };
  const auto enough = [&] { return most_flops_ >= 4 * limits_.low_flops; };
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
    if (flops <= most_flops_) return false;
    most_flops_ = flops;
    return true;
  };
  std::vector<int64_t> best;
  for (size_t order = 0; order <= std::min<size_t>(count, 8) && !enough(); ++order) {
    if (!start()) return;
    most_flops_ = std::max(most_flops_, flops);
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
    for (bool better = true; better && !enough();) {
      better = false;
      for (size_t down = 0; down < count && !enough(); ++down) {
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
}

// Linear functions of one free size that a slot is never below, and never above.
struct DimsSpace::Line {
  int size = -1;  // -1: constants
  double slope = 0, least = 0, most = 0;
};

std::vector<DimsSpace::Line> DimsSpace::lines() const {
  const size_t count = free_.size();
  std::vector<Line> lines(count + code_.size());
  for (size_t i = 0; i < count; ++i) {
    lines[i] = small_[i] ? Line{-1, 0, static_cast<double>(free_[i].low),
                                static_cast<double>(free_[i].high)}
                         : Line{static_cast<int>(i), 1, 0, 0};
  }
  for (size_t i = 0; i < code_.size(); ++i) {
    const Instruction& made = code_[i];
    const double div = static_cast<double>(made.div), mul = static_cast<double>(made.mul);
    const double add = static_cast<double>(made.add), plus = static_cast<double>(made.plus);
    Line& line = lines[count + i];
    if (made.kind == Sizes::Kind::kAffine) {
      line = lines[made.a];
      line.slope *= mul / div;
      line.least = mul * (line.least + add - (div - 1)) / div + plus;
      line.most = mul * (line.most + add) / div + plus;
    } else if (made.kind == Sizes::Kind::kConstant) {
      line.least = line.most = plus;
    } else {  // one part stays, of the other the least and the most
      const double factor = made.kind == Sizes::Kind::kSplit ? mul : 1;
      const double offset = made.kind == Sizes::Kind::kSplit ? plus : 0;
      const bool stays = lines[made.a].size >= 0 || lines[made.b].size < 0;
      line = lines[stays ? made.a : made.b];
      const int other = stays ? made.b : made.a;
      const double own = stays ? factor : 1, others = stays ? 1 : factor;
      line.slope *= own;
      line.least = own * line.least + others * static_cast<double>(least_[other]) + offset;
      line.most = own * line.most + others * static_cast<double>(most_[other]) + offset;
    }
  }
  return lines;
}

// Upper bounds on products of free sizes, each to a degree. No assignment passes one.
void DimsSpace::find_caps() {
  const std::vector<Line> all = lines();
  const auto low = [&](const Line& line) { return static_cast<double>(free_[line.size].low); };
  const auto high = [&](const Line& line) { return static_cast<double>(free_[line.size].high); };
  // The largest size over slot: at the ends, or where the line meets what the slot is at least.
  const auto size_over_slot = [&](int at) {
    const Line& line = all[at];
    const double bottom = std::max<double>(1, static_cast<double>(least_[at]));
    const double meets = std::clamp((bottom - line.least) / line.slope, low(line), high(line));
    const auto over = [&](double x) { return x / std::max(bottom, line.slope * x + line.least); };
    return std::max({over(low(line)), over(meets), over(high(line))});
  };
  const auto slot_over_size = [&](int at) {
    const Line& line = all[at];
    return line.slope + std::max(line.most / low(line), line.most / high(line));
  };
  terms_with_flops_ = 0;
  for (const Monomial& monomial : monomials_) terms_with_flops_ += monomial.flops > 0;
  for (size_t i = 0; i < monomials_.size(); ++i) {
    const Monomial& monomial = monomials_[i];
    double limit = HUGE_VAL;
    if (monomial.largest > 0) limit = std::min(limit, limits_.tensor / monomial.largest);
    if (monomial.total > 0) limit = std::min(limit, limits_.total / monomial.total);
    if (monomial.flops > 0) limit = std::min(limit, limits_.high_flops / monomial.flops);
    Cap cap{std::vector<int>(free_.size()), portable_log2(limit)};
    Cap floor{std::vector<int>(free_.size()), 0};
    const double needed = low_flops_ / terms_with_flops_;
    const bool may_lead = monomial.flops > 0 && needed > 0 && limit * monomial.flops >= needed;
    if (may_lead) floor.log2_limit = portable_log2(monomial.flops / needed);
    bool any = false;
    for (int at : monomial.slots) {
      const Line& line = all[at];
      if (line.size >= 0 && line.slope > 0) {
        ++cap.degree[line.size];
        --floor.degree[line.size];
        cap.log2_limit += portable_log2(size_over_slot(at)) + 1e-9;
        floor.log2_limit += portable_log2(slot_over_size(at)) + 1e-9;
        any = true;
      } else {
        cap.log2_limit -=
            portable_log2(std::max<double>(1, static_cast<double>(least_[at]))) - 1e-9;
        floor.log2_limit += portable_log2(static_cast<double>(most_[at])) + 1e-9;
      }
    }
    if (!any) continue;
    cap.limit = portable_exp2(cap.log2_limit);
    floor.limit = portable_exp2(floor.log2_limit);
    caps_.push_back(std::move(cap));
    if (may_lead) floors_.push_back({static_cast<int>(i), std::move(floor)});
  }
  // What another bound implies says nothing.
  const auto implies = [](const Cap& a, const Cap& b) {
    return a.log2_limit <= b.log2_limit &&
           std::equal(a.degree.begin(), a.degree.end(), b.degree.begin(),
                      [](int x, int y) { return x >= y; });
  };
  for (size_t i = 0; i < caps_.size();) {
    bool implied = false;
    for (size_t j = 0; j < caps_.size() && !implied; ++j) {
      implied = i != j && implies(caps_[j], caps_[i]);
    }
    if (implied) {
      caps_.erase(caps_.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

// What each bound leaves to each size, the rest being at its least. False: nothing.
bool DimsSpace::narrow(const std::vector<const Cap*>& caps, Proposal& made) const {
  std::vector<double> low(free_.size()), high(free_.size());
  for (size_t i = 0; i < free_.size(); ++i) {
    made.sources[i].low = free_[i].low;
    made.sources[i].high = free_[i].high;
    if (small_[i]) continue;
    low[i] = portable_log2(static_cast<double>(free_[i].low));
    high[i] = portable_log2(static_cast<double>(free_[i].high));
  }
  for (int round = 0; round < 3; ++round) {
    for (const Cap* cap : caps) {
      double left = cap->log2_limit + 1e-9;
      const auto least = [&](size_t i) {
        return cap->degree[i] * (cap->degree[i] > 0 ? low[i] : high[i]);
      };
      for (size_t i = 0; i < free_.size(); ++i) left -= least(i);
      if (left < 0) return false;
      for (size_t i = 0; i < free_.size(); ++i) {
        if (cap->degree[i] == 0) continue;
        const double end = (left + least(i)) / cap->degree[i];
        Proposal::Source& source = made.sources[i];
        if (cap->degree[i] > 0 && end < high[i]) {
          source.high = std::min(source.high, static_cast<int64_t>(portable_exp2(end) + 1e-6));
          high[i] = end;
        } else if (cap->degree[i] < 0 && end > low[i]) {
          source.low =
              std::max(source.low, static_cast<int64_t>(std::ceil(portable_exp2(end) - 1e-6)));
          low[i] = end;
        }
        if (source.low > source.high) return false;
      }
    }
  }
  return true;
}

// Sizes that no bound has together, and each to the first degree: given the others, each may be
// anything in an interval.
void DimsSpace::choose_last(const std::vector<const Cap*>& caps, Proposal& made) const {
  std::vector<size_t> order;
  for (size_t i = 0; i < free_.size(); ++i) {
    const bool plain = std::all_of(caps.begin(), caps.end(),
                                   [&](const Cap* cap) { return std::abs(cap->degree[i]) <= 1; });
    if (!small_[i] && plain) order.push_back(i);
  }
  const auto bounds = [&](size_t i) {
    return std::count_if(caps.begin(), caps.end(), [&](const Cap* cap) { return cap->degree[i]; });
  };
  // Those of few bounds first: so there are more.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(bounds(a), -made.sources[a].high) <
           std::pair(bounds(b), -made.sources[b].high);
  });
  std::vector<const Cap*> used;
  for (size_t i : order) {
    Proposal::Last last{static_cast<int>(i), {}, {}};
    bool alone = true;
    for (const Cap* cap : caps) {
      if (cap->degree[i] == 0) continue;
      (cap->degree[i] > 0 ? last.above : last.below).push_back(cap);
      alone = alone && std::find(used.begin(), used.end(), cap) == used.end();
    }
    if (!alone) continue;
    used.insert(used.end(), last.above.begin(), last.above.end());
    used.insert(used.end(), last.below.begin(), last.below.end());
    made.last.push_back(std::move(last));
  }
}

// For any weights of the bounds: the product of all bounds, each to its weight, is no less than
// that of what they bound, and so, for every assignment, than the product of all size^tilt, where a
// size's tilt is the sum of the weights of the bounds that it is in, times its degree there. The
// weights make proposals likely to be taken: they minimise top times the sum over all proposals of
// size^-tilt, in steps of an eighth.
DimsSpace::Proposal DimsSpace::propose(const Cap* floor, int leading) const {
  std::vector<const Cap*> caps;
  for (const Cap& cap : caps_) caps.push_back(&cap);
  if (floor) caps.push_back(floor);
  const size_t count = free_.size();
  Proposal made;
  made.leading = leading;
  made.sources.resize(count);
  if (!narrow(caps, made)) {
    made.log2_mass = 2 * kNone;
    return made;
  }
  choose_last(caps, made);
  std::vector<char> is_last(count);
  for (const Proposal::Last& last : made.last) is_last[last.size] = 1;
  std::vector<int> weights(caps.size()), tilt(count);
  const auto table = [&](size_t i) -> const PowerTable& {
    return PowerTable::of(made.sources[i].low > 1 ? 2 : 1, tilt[i]);
  };
  // log2 of top, and of the sum over proposals.
  const auto log2_top = [&] {
    double sum = 0;
    for (size_t cap = 0; cap < caps.size(); ++cap) {
      sum += weights[cap] * caps[cap]->log2_limit / 8;
    }
    return sum;
  };
  const auto log2_sum = [&](size_t i) {
    if (is_last[i]) {
      return (1 - tilt[i] / 8.0) * portable_log2(static_cast<double>(made.sources[i].high));
    }
    return small_[i] ? 0 : portable_log2(table(i).total(made.sources[i].low, made.sources[i].high));
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
        for (size_t i = 0; i < count; ++i) tilt[i] += sign * by * caps[cap]->degree[i];
      }
    };
    change(1);
    bool fits = true;
    for (auto [cap, by] : changes) fits = fits && weights[cap] >= 0;
    for (size_t i = 0; i < count; ++i) {
      const int most = is_last[i] ? 8 : PowerTable::kMost;
      fits = fits && tilt[i] >= PowerTable::kLeast && tilt[i] <= most;
    }
    if (fits) {
      const std::vector<double> before = sums;
      for (auto [cap, by] : changes) {
        for (size_t i = 0; i < count; ++i) {
          if (caps[cap]->degree[i] != 0) sums[i] = log2_sum(i);
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
      for (size_t i = 0; i < caps.size(); ++i) {
        moved |= move({{i, step}}) || move({{i, -step}});
        for (size_t j = 0; j < caps.size(); ++j) {
          if (i != j && weights[j] >= step) moved |= move({{i, step}, {j, -step}});
        }
      }
    }
  }
  made.log2_mass = best;
  double log2_most = log2_top();
  for (size_t i = 0; i < count; ++i) log2_most += is_last[i] ? sums[i] : 0;
  made.top = portable_exp2(log2_most) * (1 + 1e-9);
  for (size_t i = 0; i < count; ++i) {
    if (small_[i] || is_last[i]) continue;
    Proposal::Source& source = made.sources[i];
    source.table = &table(i);
    source.share = source.table->share(source.low, source.high);
  }
  return made;
}

DimsSpace::DimsSpace(const ShapedSkeleton& skeleton, const DimsLimits& limits) : limits_(limits) {
  compile(skeleton);
  if (empty_ || !tighten()) {
    empty_ = true;
    return;
  }
  // All bounds grow with the sizes: if the least ones break one, so do all.
  std::vector<int64_t> least = least_;
  for (int64_t& size : least) size = std::max<int64_t>(size, 1);
  double flops = 0;
  if (!bounded(least, flops) || flops > limits_.high_flops) {
    empty_ = true;
    return;
  }
  climb();
  low_flops_ = std::min(limits_.low_flops, most_flops_ / 4);
  for (const Free& free : free_) {
    small_.push_back(free.count() <= kFew || free.low < 1 || !free.values.empty());
  }
  find_caps();
  proposals_.push_back(propose(nullptr, -1));
}

// One proposal for each monomial that may lead, where they propose less than the one for all does;
// an assignment is then taken from the one that leads in it.
void DimsSpace::split_by_leading() {
  divided_ = true;
  std::vector<Proposal> split;
  const double all = proposals_[0].log2_mass;
  double total = 0;  // over what the one for all proposes
  for (const auto& [leading, floor] : floors_) {
    Proposal made = propose(&floor, leading);
    if (made.log2_mass <= kNone) continue;
    total += portable_exp2(std::max(made.log2_mass - all, -1000.0));
    if (total >= 1 && limits_.tries_for_all > 0) return;
    made.up_to = total;
    split.push_back(std::move(made));
  }
  if (!floors_.empty()) proposals_ = std::move(split);
}

// The sizes that come last; their numbers of choices go into the weight.
bool DimsSpace::draw_last(const Proposal& proposal, std::vector<int64_t>& slots, double& weight,
                          Random& random) const {
  const auto rest = [&](const Cap& cap, int but) {
    double product = 1;
    for (size_t i = 0; i < free_.size(); ++i) {
      if (static_cast<int>(i) == but) continue;
      for (int k = 0; k < std::abs(cap.degree[i]); ++k) product *= static_cast<double>(slots[i]);
    }
    return product;
  };
  for (const Proposal::Last& last : proposal.last) {
    int64_t low = proposal.sources[last.size].low, high = proposal.sources[last.size].high;
    for (const Cap* cap : last.above) {
      high = std::min(high, static_cast<int64_t>(cap->limit / rest(*cap, last.size)));
    }
    for (const Cap* cap : last.below) {  // 1 / product <= limit
      low =
          std::max(low, static_cast<int64_t>(std::ceil(1 / (cap->limit * rest(*cap, last.size)))));
    }
    if (low > high) return false;
    const int64_t choices = high - low + 1;
    weight *= static_cast<double>(choices);
    slots[last.size] = low + static_cast<int64_t>(random.below(choices));
  }
  return true;
}

std::optional<DimsSpace::Draw> DimsSpace::draw(Random& random) {
  std::vector<int64_t> slots(free_.size() + code_.size());
  Draw drawn;
  while (++drawn.tries <= limits_.tries) {
    // The lower end of the window is left to chance at first: most often that is enough.
    if (drawn.tries > limits_.tries_for_all && !divided_) split_by_leading();
    if (proposals_.empty()) return std::nullopt;
    const Proposal* proposal = &proposals_[0];
    if (proposals_.size() > 1) {
      const double at = random.uniform() * proposals_.back().up_to;
      while (at >= proposal->up_to && proposal != &proposals_.back()) ++proposal;
    }
    double weight = 1;
    for (size_t i = 0; i < free_.size(); ++i) {
      const Free& free = free_[i];
      const Proposal::Source& source = proposal->sources[i];
      if (!source.table && !small_[i]) continue;
      if (small_[i]) {
        slots[i] = free.at(static_cast<int64_t>(random.below(free.count())));
        continue;
      }
      slots[i] = source.table->draw(source.low, source.high, source.share, random);
      weight *= source.table->power(slots[i]);
    }
    if (!draw_last(*proposal, slots, weight, random)) continue;
    if (random.uniform() * proposal->top >= weight) continue;
    fill(slots);
    int leading = -1;
    if (!checked(slots) || !bounded(slots, drawn.flops, &leading)) continue;
    if (drawn.flops < low_flops_ || drawn.flops > limits_.high_flops) continue;
    if (proposal->leading >= 0 && leading != proposal->leading) continue;
    for (const std::vector<Dim>& tensor : tensors_) {
      std::vector<int64_t>& shape = drawn.shapes.emplace_back();
      for (const Dim& dim : tensor) shape.push_back(dim.slot < 0 ? dim.constant : slots[dim.slot]);
    }
    return drawn;
  }
  return std::nullopt;
}

}  // namespace kw
