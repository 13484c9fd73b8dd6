#include "synth/sizes/sizes.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace kw {
namespace {

size_t hash(const Sizes::Node& node) {
  // Odd factors without a pattern, one for each member.
  const uint64_t h = static_cast<uint64_t>(node.kind) * 0x9e3779b97f4a7c15u +
                     static_cast<uint64_t>(node.add) * 0xbf58476d1ce4e5b9u +
                     static_cast<uint64_t>(node.div) * 0x94d049bb133111ebu +
                     static_cast<uint64_t>(node.mul) * 0xd6e8feb86659fd93u +
                     static_cast<uint64_t>(node.plus) * 0xa0761d6478bd642fu +
                     static_cast<uint64_t>(node.a) * 0xe7037ed1a0b428dbu +
                     static_cast<uint64_t>(node.b) * 0x8ebc6af09c88c6e3u;
  return h ^ h >> 32;
}

}  // namespace

SizeId Sizes::intern(const Node& node) {
  if (2 * nodes_.size() >= known_.size()) {  // half full: a larger table
    std::vector<SizeId> larger(std::max<size_t>(128, 2 * known_.size()), -1);
    for (SizeId id = 0; id < static_cast<SizeId>(nodes_.size()); ++id) {
      size_t at = hash(nodes_[id]) % larger.size();
      while (larger[at] >= 0) at = (at + 1) % larger.size();
      larger[at] = id;
    }
    known_ = std::move(larger);
  }
  size_t at = hash(node) % known_.size();
  for (; known_[at] >= 0; at = (at + 1) % known_.size()) {
    if (nodes_[known_[at]] == node) return known_[at];
  }
  nodes_.push_back(node);
  replaced_.push_back(-1);
  return known_[at] = static_cast<SizeId>(nodes_.size()) - 1;
}

void Sizes::clear() {
  nodes_.clear();
  replaced_.clear();
  std::fill(known_.begin(), known_.end(), -1);
  variables_.clear();
  checks_.clear();
  solved_ = Solved::kYes;
}

SizeId Sizes::constant(int64_t value) { return intern({.kind = Kind::kConstant, .plus = value}); }

SizeId Sizes::variable(int64_t low) {
  variables_.push_back({.low = low});
  return intern({.kind = Kind::kVariable, .plus = static_cast<int64_t>(variables_.size()) - 1});
}

SizeId Sizes::resolve(SizeId x) const {
  while (replaced_[x] >= 0) x = replaced_[x];
  return x;
}

bool Sizes::is_one(SizeId x) const {
  const Node& node = nodes_[resolve(x)];
  return node.kind == Kind::kConstant && node.plus == 1;
}

SizeId Sizes::affine(SizeId x, int64_t add, int64_t div, int64_t mul, int64_t plus) {
  x = resolve(x);
  const Node child = nodes_[x];
  if (child.kind == Kind::kConstant) {
    return constant(mul * floor_div(child.plus + add, div) + plus);
  }
  if (div == 1) {  // mul * x + (mul * add + plus)
    plus += mul * add;
    add = 0;
    if (mul == 1 && plus == 0) return x;
    if (child.kind == Kind::kAffine) {
      return affine(child.a, child.add, child.div, mul * child.mul, mul * child.plus + plus);
    }
  } else if (child.kind == Kind::kAffine && child.mul == 1 && child.div == 1) {
    return affine(child.a, child.plus + add, div, mul, plus);
  }
  return intern({.kind = Kind::kAffine, .add = add, .div = div, .mul = mul, .plus = plus, .a = x});
}

SizeId Sizes::sum(SizeId a, SizeId b) {
  a = resolve(a);
  b = resolve(b);
  if (nodes_[a].kind == Kind::kConstant) return affine(b, 0, 1, 1, nodes_[a].plus);
  if (nodes_[b].kind == Kind::kConstant) return affine(a, 0, 1, 1, nodes_[b].plus);
  if (a == b) return affine(a, 0, 1, 2, 0);
  return intern({.kind = Kind::kSum, .a = std::min(a, b), .b = std::max(a, b)});
}

// stride * steps + offset + r, with a remainder of its own.
SizeId Sizes::split(SizeId steps, int64_t stride, int64_t offset) {
  const SizeId remainder = variable(0);
  variable_at(remainder).high = stride - 1;
  return intern(
      {.kind = Kind::kSplit, .mul = stride, .plus = offset, .a = resolve(steps), .b = remainder});
}

SizeId Sizes::window(SizeId x, int64_t extent, int64_t stride, int64_t padding) {
  x = resolve(x);
  const int64_t offset = extent - 2 * padding - stride;  // of stride * steps, in what is read
  // Not what is listed, or a remainder.
  const bool free = nodes_[x].kind == Kind::kVariable && variable_of(x).values.empty() &&
                    variable_of(x).high == kMost;
  if (!free) {
    const SizeId steps = affine(x, -offset, stride, 1, 0);
    at_least(steps, 1);
    return steps;
  }
  if (stride == 1 && offset == 0) return x;
  const SizeId steps = variable();
  equal(x, stride == 1 ? affine(steps, 0, 1, 1, offset) : split(steps, stride, offset));
  return steps;
}

int64_t Sizes::value(SizeId x, const auto& value_of) const {
  x = resolve(x);
  const Node& node = nodes_[x];
  switch (node.kind) {
    case Kind::kConstant:
      return node.plus;
    case Kind::kVariable:
      return value_of(x);
    case Kind::kAffine:
      return node.mul * floor_div(value(node.a, value_of) + node.add, node.div) + node.plus;
    case Kind::kSum:
      return value(node.a, value_of) + value(node.b, value_of);
    case Kind::kSplit:
      return node.mul * value(node.a, value_of) + node.plus + value(node.b, value_of);
  }
  return 0;
}

// All that a size is made of grows with its variables.
int64_t Sizes::extreme(SizeId x, bool most) const {
  return value(x, [&](SizeId id) {
    const Variable& variable = variable_of(id);
    if (variable.values.empty()) return most ? variable.high : variable.low;
    return most ? variable.values.back() : variable.values.front();
  });
}

void Sizes::roots(SizeId x, std::vector<SizeId>& found) const {
  x = resolve(x);
  const Node& node = nodes_[x];
  if (node.kind == Kind::kVariable) {
    if (std::find(found.begin(), found.end(), x) == found.end()) found.push_back(x);
    return;
  }
  if (node.a >= 0) roots(node.a, found);
  if (node.b >= 0) roots(node.b, found);
}

bool Sizes::contains(SizeId x, SizeId variable) const {
  std::vector<SizeId> found;
  roots(x, found);
  return std::find(found.begin(), found.end(), variable) != found.end();
}

bool Sizes::within_reach(SizeId x, int64_t low, int64_t high) const {
  return extreme(x, false) <= high && extreme(x, true) >= low;
}

void Sizes::at_least(SizeId x, int64_t low) {
  x = resolve(x);
  if (nodes_[x].kind == Kind::kVariable) {
    Variable& variable = variable_at(x);
    const bool listed = !variable.values.empty();
    variable.low = std::max(variable.low, low);
    std::erase_if(variable.values, [&](int64_t value) { return value < low; });
    if (variable.low > variable.high || (listed && variable.values.empty())) contradiction();
    return;
  }
  if (!within_reach(x, low, kMost)) contradiction();
  if (nodes_[x].kind != Kind::kConstant) checks_.push_back({x, low, kMost});
}

void Sizes::replace(SizeId variable, SizeId by) {
  const Variable old = variable_of(variable);
  replaced_[variable] = by;
  if (nodes_[by].kind == Kind::kVariable) {
    Variable& kept = variable_at(by);
    kept.low = std::max(kept.low, old.low);
    kept.high = std::min(kept.high, old.high);
    if (!old.values.empty()) {
      if (kept.values.empty()) {
        kept.values = old.values;
      } else {
        std::erase_if(kept.values, [&](int64_t value) {
          return !std::binary_search(old.values.begin(), old.values.end(), value);
        });
        if (kept.values.empty()) contradiction();
      }
    }
    std::erase_if(kept.values,
                  [&](int64_t value) { return value < kept.low || value > kept.high; });
    if (kept.low > kept.high || (!old.values.empty() && kept.values.empty())) contradiction();
    return;
  }
  if (!within_reach(by, old.low, old.high)) return contradiction();
  if (nodes_[by].kind == Kind::kConstant) {
    if (!old.values.empty() &&
        !std::binary_search(old.values.begin(), old.values.end(), nodes_[by].plus)) {
      contradiction();
    }
    return;
  }
  if (!old.values.empty()) return unsolved();
  checks_.push_back({by, old.low, old.high});
}

Sizes::Growth Sizes::growth(SizeId x) const {
  x = resolve(x);
  const Node& node = nodes_[x];
  const auto times = [](double factor, Growth g) {
    return Growth{factor * g.rate, factor * g.jump};
  };
  const auto plus = [](Growth a, Growth b) { return Growth{a.rate + b.rate, a.jump + b.jump}; };
  const auto mul = static_cast<double>(node.mul);
  switch (node.kind) {
    case Kind::kConstant:
      return {0, 0};
    case Kind::kVariable:
      return {1, 0};
    case Kind::kAffine: {  // a floor may be just short of its next step
      Growth divided = times(1.0 / static_cast<double>(node.div), growth(node.a));
      if (node.div > 1) divided.jump += 1;
      return times(mul, divided);
    }
    case Kind::kSum:
      return plus(growth(node.a), growth(node.b));
    case Kind::kSplit:
      return plus(times(mul, growth(node.a)), growth(node.b));
  }
  return {0, 0};
}

// Values of the only variable of both at which they are the same.
void Sizes::enumerate(SizeId variable, SizeId a, SizeId b) {
  Variable& domain = variable_at(variable);
  const Node& other = nodes_[b];
  if (a == variable && other.kind == Kind::kAffine && other.div == 1 &&
      resolve(other.a) == variable) {  // x = mul * x + plus, and not all x
    const int64_t factor = 1 - other.mul;
    if (factor == 0 || other.plus % factor != 0) return contradiction();
    return equal(variable, constant(other.plus / factor));
  }
  std::vector<int64_t> kept;
  const auto differ = [&](int64_t at) {
    const auto same = [&](SizeId) { return at; };
    return value(b, same) - value(a, same);
  };
  const bool listed = !domain.values.empty();
  int64_t low = domain.low, high = domain.high;
  if (a ==
      variable) {  // x = f(x), and f does not fall: from below f(x) on, and from above down to it
    for (int64_t by; low <= high && (by = differ(low)) > 0;) low += by;
    for (int64_t by; low <= high && (by = differ(high)) < 0;) high += by;
  }
  if (listed) {
    std::copy_if(domain.values.begin(), domain.values.end(), std::back_inserter(kept),
                 [&](int64_t at) { return differ(at) == 0; });
  } else {
    // Neither falls: where one is ahead, the other has to grow by as much.
    const Growth left = growth(a), right = growth(b);
    for (int64_t at = low; at <= high;) {
      const int64_t by = differ(at);
      if (by == 0) kept.push_back(at);
      const Growth& behind = by > 0 ? left : right;
      const double short_of = std::abs(static_cast<double>(by)) - behind.jump;
      if (behind.rate * static_cast<double>(high - at) < short_of) break;
      at += std::max<int64_t>(1, static_cast<int64_t>(short_of / behind.rate));
    }
  }
  if (kept.empty()) return contradiction();
  if (kept.size() == 1) {
    replaced_[variable] = constant(kept[0]);
  } else {
    domain.values = std::move(kept);
  }
}

// Both parts of stride * x + offset + r are free.
bool Sizes::joinable(SizeId split) const {
  const Node& node = nodes_[split];
  const SizeId steps = resolve(node.a), remainder = resolve(node.b);
  return nodes_[steps].kind == Kind::kVariable && nodes_[remainder].kind == Kind::kVariable &&
         variable_of(steps).values.empty() && variable_of(remainder).values.empty() &&
         variable_of(remainder).low == 0 && variable_of(remainder).high == node.mul - 1;
}

// It is a variable again: x is then what a window gives of it.
void Sizes::join_split(SizeId split) {
  const Node node = nodes_[split];
  const SizeId whole = variable();
  replaced_[split] = whole;
  replace(resolve(node.a), affine(whole, -node.plus, node.mul, 1, 0));
}

// Whether undoing what was done to a variable, step by step, ends at one that `other` does not hang
// on.
bool Sizes::leads_to_free(SizeId x, SizeId other) const {
  x = resolve(x);
  const Node& node = nodes_[x];
  if (node.kind == Kind::kVariable) return !contains(other, x);
  if (node.kind == Kind::kAffine) return node.mul == 1 && leads_to_free(node.a, other);
  return node.kind == Kind::kSplit && joinable(x) && !contains(other, resolve(node.a));
}

void Sizes::set_quotient(SizeId affine_size, SizeId quotient) {
  const Node node = nodes_[affine_size];
  if (node.div == 1) return equal(node.a, affine(quotient, 0, 1, 1, -node.add));
  equal(node.a, split(quotient, node.div, -node.add));
}

void Sizes::equal_to_constant(SizeId x, int64_t value) {
  const Node node = nodes_[x];
  if (!within_reach(x, value, value)) return contradiction();
  if (node.kind == Kind::kAffine) {
    if ((value - node.plus) % node.mul != 0) return contradiction();
    return set_quotient(x, constant((value - node.plus) / node.mul));
  }
  if (node.kind == Kind::kSplit) {
    const int64_t quotient = floor_div(value - node.plus, node.mul);
    equal(node.b, constant(value - node.plus - quotient * node.mul));
    return equal(node.a, constant(quotient));
  }
  for (auto [one, other] : {std::pair{node.a, node.b}, std::pair{node.b, node.a}}) {
    const Node& known = nodes_[resolve(one)];
    if (known.kind == Kind::kConstant) return equal(other, constant(value - known.plus));
  }
  unsolved();
}

// Two multiples: both quotients go in steps of the other's factor.
void Sizes::equal_floors(SizeId a, SizeId b) {
  const Node x = nodes_[a], y = nodes_[b];
  const int64_t common = std::gcd(x.mul, y.mul);
  if ((y.plus - x.plus) % common != 0) return contradiction();
  const int64_t step_x = y.mul / common, step_y = x.mul / common;
  const int64_t least_x = floor_div(extreme(x.a, false) + x.add, x.div);
  const int64_t least_y = floor_div(extreme(y.a, false) + y.add, y.div);
  int64_t first = least_x;
  while ((x.mul * first + x.plus - y.plus) % y.mul != 0 ||
         floor_div(x.mul * first + x.plus - y.plus, y.mul) < least_y) {
    ++first;
    if (x.mul * first + x.plus > kMost) return contradiction();
  }
  const int64_t second = floor_div(x.mul * first + x.plus - y.plus, y.mul);
  const SizeId turn = variable();
  set_quotient(a, affine(turn, 0, 1, step_x, first - step_x));
  if (solved_ == Solved::kContradiction) return;
  set_quotient(b, affine(turn, 0, 1, step_y, second - step_y));
}

void Sizes::equal(SizeId a, SizeId b) {
  if (solved_ == Solved::kContradiction) return;
  // Children may have been replaced since: equal sizes become one when they are written again.
  const auto rewritten = [&](SizeId x) {
    x = resolve(x);
    const Node node = nodes_[x];
    if (node.kind == Kind::kAffine) return affine(node.a, node.add, node.div, node.mul, node.plus);
    if (node.kind == Kind::kSum) return sum(node.a, node.b);
    if (node.kind == Kind::kSplit) {
      const SizeId steps = resolve(node.a), rest = resolve(node.b);
      const Node known = nodes_[rest];
      if (known.kind == Kind::kConstant) {
        return affine(steps, 0, 1, node.mul, node.plus + known.plus);
      }
    }
    return x;
  };
  a = rewritten(a);
  b = rewritten(b);
  if (a == b) return;
  const auto kind = [&](SizeId x) { return nodes_[x].kind; };
  if (kind(a) == Kind::kConstant) std::swap(a, b);
  if (kind(b) == Kind::kConstant) {
    if (kind(a) == Kind::kConstant) return contradiction();  // constants are interned: they differ
    if (kind(a) == Kind::kVariable) return replace(a, b);
    return equal_to_constant(a, nodes_[b].plus);
  }
  if (kind(a) != Kind::kVariable) std::swap(a, b);
  if (kind(a) == Kind::kVariable && kind(b) == Kind::kVariable) return replace(a, b);
  if (kind(a) == Kind::kVariable) {
    if (!contains(b, a)) return replace(a, b);
    std::vector<SizeId> found;
    roots(b, found);
    return found.size() == 1 ? enumerate(a, a, b) : unsolved();
  }
  std::vector<SizeId> left, right;
  roots(a, left);
  roots(b, right);
  if (left == right && left.size() == 1) return enumerate(left[0], a, b);
  for (auto [one, other] : {std::pair{a, b}, std::pair{b, a}}) {
    if (kind(one) != Kind::kSplit || !leads_to_free(one, other)) continue;
    join_split(one);
    return equal(one, other);
  }
  if (kind(a) == Kind::kAffine && kind(b) == Kind::kAffine && nodes_[a].mul > 1 &&
      nodes_[b].mul > 1) {
    return equal_floors(a, b);
  }
  for (auto [one, other] : {std::pair{a, b}, std::pair{b, a}}) {
    if (kind(one) != Kind::kAffine || nodes_[one].mul > 1 || !leads_to_free(one, other)) continue;
    return set_quotient(one, affine(other, 0, 1, 1, -nodes_[one].plus));
  }
  unsolved();
}

}  // namespace kw
