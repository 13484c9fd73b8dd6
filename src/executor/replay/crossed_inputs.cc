#include "executor/replay/crossed_inputs.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "executor/aten/seeds.h"
#include "executor/replay/vary.h"
#include "formats/base/error.h"
#include "program/cost.h"
#include "program/makers.h"
#include "program/rewrite/tables.h"
#include "program/rewrite/transform.h"

namespace kw::exec {
namespace {

constexpr double kStep = 4;      // from one factor to the next
constexpr int kLarger = 16;      // up to 4e9
constexpr int kHalvings = 4;     // of a step, where its end is infinite
constexpr int kSmaller = 20;     // down to 1e-12, which is the smallest limit of norms in use
constexpr size_t kAlone = 4;     // inputs and parameters that are scaled alone
constexpr double kWork = 1e11;   // operations of a search
constexpr double kPerByte = 10;  // operations that moving a byte takes as long as
constexpr int64_t kPart = 64;    // one of so many elements has to lie beyond the threshold

// How many elements of a threshold's operand lie on either side.
struct Sides {
  int64_t below = 0, above = 0, all = 0;
  bool finite = true;

  int64_t part() const { return std::max<int64_t>(1, all / kPart); }
  bool crossed() const { return finite && below >= part() && above >= part(); }
};

template <typename Limit>
Sides sides_of(const at::Tensor& operand, const Limit& limit) {
  const at::Tensor below = operand.lt(limit);
  return {below.sum().template item<int64_t>(), operand.gt(limit).sum().template item<int64_t>(),
          below.numel(), operand.isfinite().all().template item<bool>()};
}

// What lies on the sides of thresholds: the outputs of a program of until(), from `next` on.
Sides next_sides(const Threshold& threshold, const std::vector<at::Tensor>& outputs, size_t& next) {
  const at::Tensor& operand = outputs.at(next++);
  return threshold.limit ? sides_of(operand, outputs.at(next++)) : sides_of(operand, threshold.at);
}

void push_compared(const Threshold& threshold, std::vector<ValueId>& out) {
  out.push_back(threshold.operand);
  if (threshold.limit) out.push_back(*threshold.limit);
}

// Returns the forward steps before the threshold's, as a program that returns what it compares.
Program until(const Program& forward, const Threshold& threshold) {
  Program out = forward;
  out.steps.resize(static_cast<size_t>(threshold.step));
  out.outputs.clear();
  push_compared(threshold, out.outputs);
  return out;
}

// Returns a program that returns what all thresholds compare, each as it is when its step runs.
Program until_last(const Program& forward, const std::vector<Threshold>& thresholds) {
  Program out = forward;
  out.steps.clear();
  out.outputs.clear();
  int done = 0;
  for (const Threshold& threshold : thresholds) {
    for (; done < threshold.step; ++done) {
      out.steps.push_back(forward.steps[static_cast<size_t>(done)]);
    }
    std::vector<ValueId> compared;
    push_compared(threshold, compared);
    for (ValueId& id : compared) {
      if (!is_overwritten(forward, id)) continue;
      Value copied = forward.values[id];
      copied.strides = contiguous_strides(copied.shape);
      copied.offset = 0;
      const ValueId copy = add_value(out, std::move(copied));
      out.steps.push_back(AtenCall{"aten.clone.default", {{"self", {ValueRef{id}}}}, {copy}, {}});
      id = copy;
    }
    out.outputs.insert(out.outputs.end(), compared.begin(), compared.end());
  }
  return out;
}

std::vector<at::Tensor> joined(std::vector<at::Tensor> all, const std::vector<at::Tensor>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// Runs steps of a task on scaled copies of what was drawn.
class Scaled {
 public:
  Scaled(const Task& task, Program steps, const std::vector<at::Tensor>& state,
         const std::vector<at::Tensor>& inputs, uint64_t seed)
      : state_(copies_on_cpu(state)),
        inputs_(copies_on_cpu(inputs)),
        seed_(derive_seed(seed, Purpose::kForward)),
        derive_(task.derive, task.kernels, nullptr, at::kCPU),
        steps_(std::move(steps), task.kernels, nullptr, at::kCPU) {
    const Cost cost = program_cost(steps_.program()), derived = program_cost(task.derive);
    work_ = cost.flops + derived.flops + kPerByte * (cost.bytes + derived.bytes);
    for (const at::Tensor& copied : joined(state, inputs)) {
      work_ += kPerByte * 2 * static_cast<double>(copied.nbytes());
    }
  }

  std::vector<at::Tensor> run(const Scaling& scaling) {
    std::vector<at::Tensor> state = copies_on_cpu(state_), inputs = copies_on_cpu(inputs_);
    scale(scaling, state, inputs);
    const auto derived = derive_.run(state, ReplayOptions(Unwritten::kZeros));
    seed_generators(seed_);
    return steps_.run(joined(joined(state, derived), inputs), ReplayOptions(Unwritten::kZeros));
  }
  // Operations of a run.
  double work() const { return work_; }

 private:
  const std::vector<at::Tensor> state_, inputs_;
  const uint64_t seed_;
  Replay derive_, steps_;
  double work_ = 0;
};

// Returns what may be scaled: all inputs together, then inputs and parameters alone, as far as the
// threshold's operand comes from them.
std::vector<Scaling> candidates(const Task& task, const Threshold& threshold) {
  const Program before = until(task.forward, threshold);
  const Lineage lineage = lineage_of(before, task.kernels, before.outputs);
  const auto counts = [&](size_t input) {
    const Value& value = before.values[before.inputs[input]];
    return is_floating(value.dtype) && lineage.storages[value.storage];
  };
  Scaling together;
  std::vector<Scaling> alone;
  const size_t first_input = before.inputs.size() - task.inputs.outputs.size();
  for (size_t i = first_input; i < before.inputs.size(); ++i) {
    if (!counts(i)) continue;
    together.inputs[i - first_input] = 1;
    alone.push_back({.state = {}, .inputs = {{i - first_input, 1}}});
  }
  for (const int i : varied_state(task)) {
    const auto entry = static_cast<size_t>(i);
    if (counts(entry)) alone.push_back({.state = {{entry, 1}}, .inputs = {}});
  }
  if (alone.size() > kAlone) alone.resize(kAlone);
  if (together.inputs.size() > 1) alone.insert(alone.begin(), together);
  return alone;
}

Scaling times(Scaling scaling, double factor) {
  for (auto* factors : {&scaling.state, &scaling.inputs}) {
    for (auto& [index, own] : *factors) own *= factor;
  }
  return scaling;
}

// Scales by what the second says, too, where it is further from one.
void merge(Scaling& scaling, const Scaling& other) {
  const auto size = [](double factor) { return std::abs(std::log(std::abs(factor))); };
  const auto add = [&](std::map<size_t, double>& to, const std::map<size_t, double>& from) {
    for (const auto& [index, factor] : from) {
      const auto [own, first] = to.try_emplace(index, factor);
      if (!first && size(factor) > size(own->second)) own->second = factor;
    }
  };
  add(scaling.state, other.state);
  add(scaling.inputs, other.inputs);
}

}  // namespace

void scale(const Scaling& scaling, const std::vector<at::Tensor>& state,
           const std::vector<at::Tensor>& inputs) {
  std::map<double, std::vector<at::Tensor>> by_factor;
  std::set<const void*> seen;
  const auto add = [&](const at::Tensor& tensor, double factor) {
    if (seen.insert(tensor.storage().unsafeGetStorageImpl()).second) {
      by_factor[factor].push_back(tensor);
    }
  };
  for (const auto& [i, factor] : scaling.state) add(state[i], factor);
  for (const auto& [i, factor] : scaling.inputs) add(inputs[i], factor);
  for (const auto& [factor, tensors] : by_factor) scale_storages(tensors, factor);
}

std::optional<Scaling> CrossedInputs::search(const Threshold& threshold,
                                             const std::vector<at::Tensor>& state,
                                             const std::vector<at::Tensor>& inputs,
                                             uint64_t seed) const {
  Scaled before(task_, until(task_.forward, threshold), state, inputs, seed);
  double left = kWork;
  const auto sides_of_scaled = [&](const Scaling& scaling) {
    left -= before.work();
    size_t next = 0;
    return next_sides(threshold, before.run(scaling), next);
  };
  const Sides drawn = sides_of_scaled({});
  const bool from_below = drawn.below >= drawn.above;
  std::optional<Scaling> best;  // of those that bring some elements beyond
  int64_t most = 0;
  for (const Scaling& scaled : candidates(task_, threshold)) {
    const auto sides = [&](double factor) { return sides_of_scaled(times(scaled, factor)); };
    // Returns whether enough elements lie beyond at a factor at which all are finite.
    const auto take = [&](double factor, const Sides& found) {
      const int64_t beyond = from_below ? found.above : found.below;
      if (beyond > most) best = times(scaled, factor);
      most = std::max(most, beyond);
      return most >= found.part();
    };
    for (const double sign : {1.0, -1.0}) {
      for (const double step : {kStep, 1 / kStep}) {
        double factor = sign;
        for (int i = 0; i < (step > 1 ? kLarger : kSmaller) && left > 0; ++i) {
          factor *= step;
          const Sides found = sides(factor);
          if (found.finite && take(factor, found)) return best;
          if (found.finite) continue;
          double low = factor / step, high = factor;  // of them the first is finite
          for (int j = 0; j < kHalvings && left > 0; ++j) {
            const double middle = sign * std::sqrt(low * high);
            const Sides between = sides(middle);
            (between.finite ? low : high) = middle;
            if (between.finite && take(middle, between)) return best;
          }
          break;
        }
      }
    }
  }
  return best;
}

std::vector<size_t> CrossedInputs::uncrossed(const std::vector<at::Tensor>& state,
                                             const std::vector<at::Tensor>& inputs,
                                             uint64_t seed) const {
  Scaled all(task_, until_last(task_.forward, thresholds_), state, inputs, seed);
  const std::vector<at::Tensor> compared = all.run({});
  std::vector<size_t> out;
  size_t next = 0;
  for (size_t i = 0; i < thresholds_.size(); ++i) {
    if (!next_sides(thresholds_[i], compared, next).crossed()) out.push_back(i);
  }
  if (!out.empty()) std::ranges::rotate(out, out.begin() + static_cast<int64_t>(seed % out.size()));
  return out;
}

void CrossedInputs::expect(size_t index, uint64_t seed) const {
  const auto known = uncrossed_.find(seed);
  if (known == uncrossed_.end()) return;
  const size_t count = known->second.size();
  if (index >= count + (count > 1)) throw ReplayError("its draws cross its thresholds");
}

const std::optional<Scaling>& CrossedInputs::found(size_t threshold,
                                                   const std::vector<at::Tensor>& state,
                                                   const std::vector<at::Tensor>& inputs,
                                                   uint64_t seed) {
  const auto [entry, first] = found_.try_emplace({seed, threshold});
  if (first) entry->second = search(thresholds_[threshold], state, inputs, seed);
  return entry->second;
}

Scaling CrossedInputs::scaling(size_t index, const std::vector<at::Tensor>& state,
                               const std::vector<at::Tensor>& inputs, uint64_t seed) {
  c10::InferenceMode inference;
  if (!uncrossed_.contains(seed)) uncrossed_[seed] = uncrossed(state, inputs, seed);
  expect(index, seed);
  const std::vector<size_t>& all = uncrossed_[seed];
  Scaling out;
  size_t crossed = 0;
  for (size_t i = 0; i < std::min(all.size(), kMostThresholds); ++i) {
    if (index < all.size() && i != index) continue;
    const auto& own = found(all[i], state, inputs, seed);
    if (!own) continue;
    merge(out, *own);
    ++crossed;
  }
  if (crossed == 0) throw ReplayError("no factor of its inputs crosses the threshold");
  return out;
}

}  // namespace kw::exec
