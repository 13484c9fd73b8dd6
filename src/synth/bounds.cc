#include "synth/bounds.h"

#include <algorithm>
#include <cmath>

#include "synth/powers.h"

namespace kw {
namespace {

// Linear functions of one free size that a slot is never below, and never above.
struct Line {
  int size = -1;  // -1: constants
  double slope = 0, least = 0, most = 0;
};

std::vector<Line> lines_of(const SizeProblem& problem) {
  const std::vector<SizeProblem::Free>& free = problem.free();
  const std::vector<SizeProblem::Instruction>& code = problem.code();
  const size_t count = free.size();
  std::vector<Line> lines(count + code.size());
  for (size_t i = 0; i < count; ++i) {
    lines[i] = free[i].few() ? Line{-1, 0, static_cast<double>(free[i].low),
                                    static_cast<double>(free[i].high)}
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
    } else {  // one part stays, of the other the least and the most
      const double factor = made.kind == Sizes::Kind::kSplit ? mul : 1;
      const double offset = made.kind == Sizes::Kind::kSplit ? plus : 0;
      const bool stays = lines[made.a].size >= 0 || lines[made.b].size < 0;
      line = lines[stays ? made.a : made.b];
      const int other = stays ? made.b : made.a;
      const double own = stays ? factor : 1, others = stays ? 1 : factor;
      line.slope *= own;
      line.least = own * line.least + others * static_cast<double>(problem.least()[other]) + offset;
      line.most = own * line.most + others * static_cast<double>(problem.most()[other]) + offset;
    }
  }
  return lines;
}

}  // namespace

namespace {

// Where parts, each at most its `most`, make up a sum of `low`, the largest is at least this: were
// it less, all parts, each at most the largest, would be less than `low` together.
double least_leader(std::vector<double> most, double low) {
  std::sort(most.begin(), most.end());
  double rest = low;  // without the parts that are at their most
  for (size_t i = 0; i < most.size(); ++i) {
    const double level = rest / static_cast<double>(most.size() - i);
    if (level <= most[i]) return level * (1 - 1e-12);
    rest -= most[i];
  }
  return low;  // they never are: any answer is right
}

}  // namespace

Bounds find_bounds(const SizeProblem& problem, double low_flops) {
  const std::vector<SizeProblem::Free>& free = problem.free();
  const std::vector<int64_t>&least = problem.least(), &most = problem.most();
  const DimsLimits& limits = problem.limits();
  Bounds bounds;
  const std::vector<Line> all = lines_of(problem);
  const auto low = [&](const Line& line) { return static_cast<double>(free[line.size].low); };
  const auto high = [&](const Line& line) { return static_cast<double>(free[line.size].high); };
  // The largest size over slot: at the ends, or where the line meets what the slot is at least.
  const auto size_over_slot = [&](int at) {
    const Line& line = all[at];
    const double bottom = std::max<double>(1, static_cast<double>(least[at]));
    const double meets = std::clamp((bottom - line.least) / line.slope, low(line), high(line));
    const auto over = [&](double x) { return x / std::max(bottom, line.slope * x + line.least); };
    return std::max({over(low(line)), over(meets), over(high(line))});
  };
  const auto slot_over_size = [&](int at) {
    const Line& line = all[at];
    return line.slope + std::max(line.most / low(line), line.most / high(line));
  };
  const auto limit_of = [&](const SizeProblem::Monomial& monomial) {
    double limit = HUGE_VAL;
    if (monomial.largest > 0) limit = std::min(limit, limits.tensor / monomial.largest);
    if (monomial.total > 0) limit = std::min(limit, limits.total / monomial.total);
    if (monomial.flops > 0) limit = std::min(limit, limits.high_flops / monomial.flops);
    return limit;
  };
  std::vector<double> most_flops;  // that each monomial can have
  for (const SizeProblem::Monomial& monomial : problem.monomials()) {
    double product = 1;
    for (int at : monomial.slots) product *= static_cast<double>(most[at]);
    if (monomial.flops > 0) {
      most_flops.push_back(monomial.flops * std::min(product, limit_of(monomial)));
    }
  }
  const double needed = least_leader(std::move(most_flops), low_flops);
  for (size_t i = 0; i < problem.monomials().size(); ++i) {
    const SizeProblem::Monomial& monomial = problem.monomials()[i];
    const double limit = limit_of(monomial);
    Bound cap{std::vector<int>(free.size()), portable_log2(limit)};
    Bound floor{std::vector<int>(free.size()), 0};
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
        cap.log2_limit -= portable_log2(std::max<double>(1, static_cast<double>(least[at]))) - 1e-9;
        floor.log2_limit += portable_log2(static_cast<double>(most[at])) + 1e-9;
      }
    }
    if (!any) continue;
    cap.limit = portable_exp2(cap.log2_limit);
    floor.limit = portable_exp2(floor.log2_limit);
    bounds.above.push_back(std::move(cap));
    if (may_lead) bounds.leading.push_back({static_cast<int>(i), std::move(floor)});
  }
  // What another bound implies says nothing.
  const auto implies = [](const Bound& a, const Bound& b) {
    return a.log2_limit <= b.log2_limit &&
           std::equal(a.degree.begin(), a.degree.end(), b.degree.begin(),
                      [](int x, int y) { return x >= y; });
  };
  for (size_t i = 0; i < bounds.above.size();) {
    bool implied = false;
    for (size_t j = 0; j < bounds.above.size() && !implied; ++j) {
      implied = i != j && implies(bounds.above[j], bounds.above[i]);
    }
    if (implied) {
      bounds.above.erase(bounds.above.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
  return bounds;
}

}  // namespace kw
