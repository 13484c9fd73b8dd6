#include "synth/sizes/bounds.h"

#include <algorithm>
#include <cmath>

#include "synth/sizes/powers.h"

namespace kw {
namespace {

// Linear functions of one free size that a slot is never below, and never above.
struct Line {
  int size = -1;  // -1: constants
  double slope = 0, least = 0, most = 0;
};

// Slots of the assignments of a box: ends, and lines.
struct Slots {
  std::vector<int64_t> least, most;
  std::vector<Line> lines;
};

Slots slots_of(const SizeProblem& problem, const Box& box) {
  const std::vector<SizeProblem::Free>& free = problem.free();
  const std::vector<SizeProblem::Instruction>& code = problem.code();
  const size_t count = free.size();
  Slots slots;
  slots.least.resize(problem.slots());
  slots.most.resize(problem.slots());
  for (size_t i = 0; i < count; ++i) {
    slots.least[i] = box[i].low;
    slots.most[i] = box[i].high;
  }
  problem.fill(slots.least);
  problem.fill(slots.most);
  std::vector<Line>& lines = slots.lines;
  lines.resize(problem.slots());
  for (size_t i = 0; i < count; ++i) {
    lines[i] = free[i].few()
                   ? Line{-1, 0, static_cast<double>(box[i].low), static_cast<double>(box[i].high)}
                   : Line{static_cast<int>(i), 1, 0, 0};
  }
  for (size_t i = 0; i < code.size(); ++i) {
    const SizeProblem::Instruction& made = code[i];
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
    } else {  // the larger part stays, of the other the least and the most
      const double factor = made.kind == Sizes::Kind::kSplit ? mul : 1;
      const double offset = made.kind == Sizes::Kind::kSplit ? plus : 0;
      const bool stays = lines[made.b].size < 0 ||
                         (lines[made.a].size >= 0 && slots.most[made.a] >= slots.most[made.b]);
      line = lines[stays ? made.a : made.b];
      const int other = stays ? made.b : made.a;
      const double own = stays ? factor : 1, others = stays ? 1 : factor;
      line.slope *= own;
      line.least = own * line.least + others * static_cast<double>(slots.least[other]) + offset;
      line.most = own * line.most + others * static_cast<double>(slots.most[other]) + offset;
    }
  }
  return slots;
}

// The slot over its free size, at most: the line falls or rises with the size.
double slot_over_size(const Line& line, const Range& range) {
  return line.slope + std::max(line.most / static_cast<double>(range.low),
                               line.most / static_cast<double>(range.high));
}

// The largest size over slot: at the ends, or where the line meets what the slot is at least.
double size_over_slot(const Line& line, const Range& range, double bottom) {
  const auto low = static_cast<double>(range.low), high = static_cast<double>(range.high);
  const double meets = std::clamp((bottom - line.least) / line.slope, low, high);
  const auto over = [&](double x) { return x / std::max(bottom, line.slope * x + line.least); };
  return std::max({over(low), over(meets), over(high)});
}

// Of each monomial.
std::vector<double> products(const SizeProblem& problem, const std::vector<int64_t>& slots) {
  std::vector<double> products;
  for (const SizeProblem::Monomial& monomial : problem.monomials()) {
    double product = 1;
    for (int at : monomial.slots) product *= static_cast<double>(std::max<int64_t>(1, slots[at]));
    products.push_back(product);
  }
  return products;
}

// Memory that the least of all monomials leaves.
double memory_left(const SizeProblem& problem, const std::vector<double>& least) {
  double left = problem.limits().total;
  for (size_t i = 0; i < least.size(); ++i) left -= problem.monomials()[i].total * least[i];
  return left;
}

// The most that a monomial can be beside the least of the others. `left`: memory_left.
double limit_of(const SizeProblem::Monomial& monomial, const DimsLimits& limits, double left,
                double least) {
  double limit = HUGE_VAL;
  if (monomial.largest > 0) limit = std::min(limit, limits.tensor / monomial.largest);
  if (monomial.total > 0) limit = std::min(limit, least + std::max(left, 0.0) / monomial.total);
  if (monomial.flops > 0) limit = std::min(limit, limits.high_flops / monomial.flops);
  return limit;
}

// What another bound implies says nothing.
void leave_out_implied(std::vector<Bound>& bounds) {
  const auto implies = [](const Bound& a, const Bound& b) {
    return a.log2_limit <= b.log2_limit &&
           std::equal(a.degree.begin(), a.degree.end(), b.degree.begin(),
                      [](int x, int y) { return x >= y; });
  };
  for (size_t i = 0; i < bounds.size();) {
    bool implied = false;
    for (size_t j = 0; j < bounds.size() && !implied; ++j) {
      implied = i != j && implies(bounds[j], bounds[i]);
    }
    if (implied) {
      bounds.erase(bounds.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

// A monomial in terms of free sizes: never above 2^log2_factor times the product of these to their
// degrees.
struct Power {
  double flops = 0, memory = 0;  // of each unit of the monomial
  std::vector<int> degree;
  double log2_factor = 0;
  double least = 1, most = 0;  // of the monomial, in the box and below all bounds
};

// Returns the most FLOPs that these can have together. All have at least their least, and share the
// memory `left` for more, those with the most FLOPs for each element first. `without` gets no more
// than its least (-1: no such power).
double most_flops(const std::vector<Power>& by_yield, double left, int without) {
  double flops = 0;
  for (size_t i = 0; i < by_yield.size(); ++i) {
    const Power& power = by_yield[i];
    flops += power.flops * power.least;
    if (static_cast<int>(i) == without) continue;
    double more = power.most - power.least;
    if (power.memory > 0) more = std::min(more, left / power.memory);
    if (more <= 0) continue;
    flops += power.flops * more;
    left -= power.memory * more;
  }
  return flops * (1 + 1e-9);
}

Power power_of(const SizeProblem::Monomial& monomial, const Slots& slots, const Box& box) {
  Power power{
      .flops = monomial.flops, .memory = monomial.total, .degree = std::vector<int>(box.size())};
  for (int at : monomial.slots) {
    const Line& line = slots.lines[at];
    const auto most = static_cast<double>(slots.most[at]);
    if (line.size >= 0 && line.slope > 0) {
      ++power.degree[line.size];
      power.log2_factor += portable_log2(slot_over_size(line, box[line.size])) + 1e-9;
    } else {
      power.log2_factor += portable_log2(most) + 1e-9;
    }
  }
  return power;
}

}  // namespace

Box whole_box(const SizeProblem& problem) {
  Box box;
  for (const SizeProblem::Free& free : problem.free()) box.push_back({free.low, free.high});
  return box;
}

std::vector<Bound> upper_bounds(const SizeProblem& problem, const Box& box) {
  const Slots slots = slots_of(problem, box);
  const std::vector<double> least = products(problem, slots.least);
  const double left = memory_left(problem, least);
  std::vector<Bound> bounds;
  for (size_t i = 0; i < least.size(); ++i) {
    const SizeProblem::Monomial& monomial = problem.monomials()[i];
    const double limit = limit_of(monomial, problem.limits(), left, least[i]);
    Bound bound{std::vector<int>(box.size()), portable_log2(limit)};
    bool any = false;
    for (int at : monomial.slots) {
      const Line& line = slots.lines[at];
      const double bottom = std::max<double>(1, static_cast<double>(slots.least[at]));
      if (line.size >= 0 && line.slope > 0) {
        ++bound.degree[line.size];
        bound.log2_limit += portable_log2(size_over_slot(line, box[line.size], bottom)) + 1e-9;
        any = true;
      } else {
        bound.log2_limit -= portable_log2(bottom) - 1e-9;
      }
    }
    if (!any) continue;
    bound.limit = portable_exp2(bound.log2_limit);
    bounds.push_back(std::move(bound));
  }
  leave_out_implied(bounds);
  return bounds;
}

std::optional<std::vector<Bound>> lower_bounds(const SizeProblem& problem,
                                               const std::vector<Bound>& above, const Box& box,
                                               double low_flops) {
  const Slots slots = slots_of(problem, box);
  std::vector<double> low(box.size()), high(box.size());
  for (size_t i = 0; i < box.size(); ++i) {
    low[i] = portable_log2(std::max<double>(1, static_cast<double>(box[i].low)));
    high[i] = portable_log2(std::max<double>(1, static_cast<double>(box[i].high)));
  }
  const std::vector<double> least = products(problem, slots.least);
  const std::vector<double> most = products(problem, slots.most);
  const double left = memory_left(problem, least);
  if (left < -1e-9 * problem.limits().total) return std::nullopt;
  std::vector<Power> powers;
  for (size_t m = 0; m < least.size(); ++m) {
    const SizeProblem::Monomial& monomial = problem.monomials()[m];
    if (monomial.flops == 0) continue;
    Power power = power_of(monomial, slots, box);
    power.least = least[m];
    power.most = std::min(most[m], limit_of(monomial, problem.limits(), left, least[m]));
    for (const Bound& bound : above) {  // the monomial over what is bounded, times the limit
      double log2_most = power.log2_factor + bound.log2_limit;
      for (size_t i = 0; i < box.size(); ++i) {
        const int more = power.degree[i] - bound.degree[i];
        if (more != 0) log2_most += more * (more > 0 ? high[i] : low[i]);
      }
      if (log2_most < 60) power.most = std::min(power.most, portable_exp2(log2_most + 1e-9));
    }
    if (power.most < power.least * (1 - 1e-9)) return std::nullopt;
    powers.push_back(std::move(power));
  }
  std::stable_sort(powers.begin(), powers.end(), [](const Power& a, const Power& b) {
    return a.flops * b.memory > b.flops * a.memory;
  });
  if (most_flops(powers, left, -1) < low_flops) return std::nullopt;
  std::vector<Bound> bounds;
  for (size_t m = 0; m < powers.size(); ++m) {
    const Power& power = powers[m];
    const double own = power.flops * power.least;
    const double needed = low_flops - (most_flops(powers, left, static_cast<int>(m)) - own);
    constexpr double kLeast = 1.0 / 64;  // of what it can be: below that it says little
    if (needed < kLeast * power.flops * power.most) continue;
    Bound bound{power.degree, power.log2_factor + portable_log2(power.flops / needed) + 1e-9};
    bool any = false;
    for (int& degree : bound.degree) {
      any = any || degree != 0;
      degree = -degree;
    }
    if (!any) continue;
    bound.limit = portable_exp2(bound.log2_limit);
    bounds.push_back(std::move(bound));
  }
  leave_out_implied(bounds);
  return bounds;
}

bool narrow(const SizeProblem& problem, const std::vector<const Bound*>& bounds, Box& box) {
  const std::vector<SizeProblem::Free>& free = problem.free();
  std::vector<double> low(free.size()), high(free.size());
  for (size_t i = 0; i < free.size(); ++i) {
    if (free[i].few()) continue;
    low[i] = portable_log2(static_cast<double>(box[i].low));
    high[i] = portable_log2(static_cast<double>(box[i].high));
  }
  for (int round = 0; round < 3; ++round) {
    for (const Bound* bound : bounds) {
      double left = bound->log2_limit + 1e-9;
      const auto least = [&](size_t i) {
        return bound->degree[i] * (bound->degree[i] > 0 ? low[i] : high[i]);
      };
      for (size_t i = 0; i < free.size(); ++i) left -= least(i);
      if (left < 0) return false;
      for (size_t i = 0; i < free.size(); ++i) {
        if (bound->degree[i] == 0) continue;
        const double end = (left + least(i)) / bound->degree[i];
        Range& range = box[i];
        if (bound->degree[i] > 0 && end < high[i]) {
          range.high = std::min(range.high, static_cast<int64_t>(portable_exp2(end) + 1e-6));
          high[i] = end;
        } else if (bound->degree[i] < 0 && end > low[i]) {
          range.low =
              std::max(range.low, static_cast<int64_t>(std::ceil(portable_exp2(end) - 1e-6)));
          low[i] = end;
        }
        if (range.low > range.high) return false;
      }
    }
  }
  return true;
}

}  // namespace kw
