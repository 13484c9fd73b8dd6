#include "synth/sizes/size_problem.h"

#include <algorithm>
#include <utility>

namespace kw {

int64_t SizeProblem::Free::count() const {
  return values.empty() ? high - low + 1 : static_cast<int64_t>(values.size());
}

int64_t SizeProblem::Free::at(int64_t i) const { return values.empty() ? low + i : values[i]; }

bool SizeProblem::Free::few() const { return !values.empty() || low < 1 || high - low < 64; }

// Free sizes have got their slots before.
int SizeProblem::slot(const Sizes& sizes, SizeId size) {
  size = sizes.resolve(size);
  if (slot_of_[size] >= 0) return slot_of_[size];
  const Sizes::Node& node = sizes.node(size);
  Instruction made{node.kind, -1, -1, node.add, node.div, node.mul, node.plus};
  if (node.a >= 0) made.a = slot(sizes, node.a);
  if (node.b >= 0) made.b = slot(sizes, node.b);
  code_.push_back(made);
  return slot_of_[size] = static_cast<int>(slots()) - 1;
}

SizeProblem::Product SizeProblem::product(const Sizes& sizes, const Shape& shape) {
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

void SizeProblem::add_check(int slot, int64_t low, int64_t high) {
  if (slot < static_cast<int>(free_.size())) {
    free_[slot].low = std::max(free_[slot].low, low);
    free_[slot].high = std::min(free_[slot].high, high);
    return;
  }
  const auto known = std::find_if(checks_.begin(), checks_.end(),
                                  [&](const Check& check) { return check.slot == slot; });
  if (known == checks_.end()) {
    checks_.push_back({slot, low, high});
  } else {
    known->low = std::max(known->low, low);
    known->high = std::min(known->high, high);
  }
}

void SizeProblem::add_tensor(const Sizes& sizes, const Shape& shape) {
  std::vector<Dim> dims;
  for (SizeId size : shape) {
    const Sizes::Node& node = sizes.node(sizes.resolve(size));
    if (node.kind == Sizes::Kind::kConstant) {
      if (node.plus < 1 || node.plus > Sizes::kMost) empty_ = true;
      dims.push_back({-1, node.plus});
    } else {
      dims.push_back({slot(sizes, size), 0});
      add_check(dims.back().slot, 1, Sizes::kMost);
    }
  }
  tensors_.push_back(std::move(dims));
  const Product elements = product(sizes, shape);
  Monomial& monomial = monomials_[elements.monomial];
  monomial.largest = std::max(monomial.largest, elements.factor);
  monomial.total += elements.factor;
}

void SizeProblem::add_flops(const Sizes& sizes, const FlopsTerm& flops) {
  Term term{flops.coefficient, product(sizes, flops.a), {}};
  if (!flops.b.empty()) term.b = product(sizes, flops.b);
  if (term.b.monomial == term.a.monomial) {
    term.a.factor = std::max(term.a.factor, term.b.factor);
    term.b = {};
  }
  monomials_[term.a.monomial].flops += term.coefficient * term.a.factor;
  if (term.b.monomial >= 0) {
    monomials_[term.b.monomial].flops += term.coefficient * term.b.factor;
  }
  terms_.push_back(term);
}

void SizeProblem::compile(const ShapedSkeleton& skeleton) {
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
  for (const Shape& tensor : skeleton.tensors) add_tensor(sizes, tensor);
  for (const Sizes::Check& check : sizes.checks()) {
    add_check(slot(sizes, check.size), check.low, check.high);
  }
  for (const FlopsTerm& flops : skeleton.flops) add_flops(sizes, flops);
}

void SizeProblem::fill(std::vector<int64_t>& slots) const {
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

bool SizeProblem::checked(const std::vector<int64_t>& slots) const {
  return std::all_of(checks_.begin(), checks_.end(), [&](const Check& check) {
    return slots[check.slot] >= check.low && slots[check.slot] <= check.high;
  });
}

bool SizeProblem::bounded(const std::vector<int64_t>& slots, double& flops) const {
  double total = 0;
  thread_local std::vector<double> products;
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
  for (const Term& term : terms_) {
    double larger = products[term.a.monomial] * term.a.factor;
    if (term.b.monomial >= 0) {
      larger = std::max(larger, products[term.b.monomial] * term.b.factor);
    }
    flops += term.coefficient * larger;
  }
  return true;
}

std::vector<std::vector<int64_t>> SizeProblem::shapes(const std::vector<int64_t>& slots) const {
  std::vector<std::vector<int64_t>> shapes;
  for (const std::vector<Dim>& tensor : tensors_) {
    std::vector<int64_t>& shape = shapes.emplace_back();
    for (const Dim& dim : tensor) shape.push_back(dim.slot < 0 ? dim.constant : slots[dim.slot]);
  }
  return shapes;
}

// False: a free size has no value left.
bool SizeProblem::set_extremes() {
  least_.resize(slots());
  most_.resize(slots());
  for (size_t i = 0; i < free_.size(); ++i) {
    Free& free = free_[i];
    if (!free.values.empty()) {
      std::erase_if(free.values, [&](int64_t v) { return v < free.low || v > free.high; });
      if (free.values.empty()) return false;
      free.low = free.values.front();
      free.high = free.values.back();
    }
    if (free.low > free.high) return false;
    least_[i] = free.low;
    most_[i] = free.high;
  }
  fill(least_);
  fill(most_);
  return true;
}

// Lows that a check needs whatever the rest is, and highs so. True when there are new ones.
bool SizeProblem::tighten(const Check& check) {
  bool changed = false;
  const auto reached = [&](std::vector<int64_t>& slots, size_t i, int64_t value) {
    const int64_t kept = std::exchange(slots[i], value);
    fill(slots);
    const int64_t size = slots[check.slot];
    slots[i] = kept;
    fill(slots);
    return size;
  };
  // Between low, which is wrong, and high, which is not, or the other way round: the last right
  // one.
  const auto search = [](int64_t wrong, int64_t right, const auto& is_wrong) {
    while (std::abs(right - wrong) > 1) {
      const int64_t middle = (wrong + right) / 2;
      (is_wrong(middle) ? wrong : right) = middle;
    }
    return right;
  };
  for (size_t i = 0; i < free_.size(); ++i) {
    Free& free = free_[i];
    if (!free.values.empty() || free.low == free.high) continue;
    const auto too_low = [&](int64_t value) { return reached(most_, i, value) < check.low; };
    const auto too_high = [&](int64_t value) { return reached(least_, i, value) > check.high; };
    if (least_[check.slot] < check.low && too_low(free.low)) {
      free.low = search(free.low, free.high, too_low);
      changed = true;
    }
    if (most_[check.slot] > check.high && too_high(free.high)) {
      free.high = search(free.high, free.low, too_high);
      changed = true;
    }
  }
  return changed;
}

// False: there is no assignment.
bool SizeProblem::tighten() {
  for (int round = 0; round < 4; ++round) {
    if (!set_extremes()) return false;
    bool changed = false;
    for (const Check& check : checks_) {
      if (most_[check.slot] < check.low || least_[check.slot] > check.high) return false;
      if (least_[check.slot] >= check.low && most_[check.slot] <= check.high) continue;
      changed |= tighten(check);
    }
    if (!changed) return true;
  }
  return set_extremes();
}

SizeProblem::SizeProblem(const ShapedSkeleton& skeleton, const DimsLimits& limits)
    : limits_(limits) {
  compile(skeleton);
  if (empty_ || !tighten()) {
    empty_ = true;
    return;
  }
  // All limits are on what grows with the sizes: if the least ones break one, so do all.
  std::vector<int64_t> slots = least_;
  for (int64_t& size : slots) size = std::max<int64_t>(size, 1);
  double flops = 0;
  empty_ = !bounded(slots, flops) || flops > limits_.high_flops;
}

}  // namespace kw
