#include "executor/replay/crossed_inputs.h"

#include <algorithm>
#include <cmath>

#include "executor/aten/seeds.h"
#include "executor/replay/vary.h"
#include "formats/base/error.h"
#include "program/cost.h"
#include "program/rewrite/transform.h"

namespace kw::exec {
namespace {

constexpr double kStep = 4;      // from one factor to the next
constexpr int kFactors = 16;     // up to 4e9
constexpr size_t kAlone = 4;     // inputs and parameters that are scaled alone
constexpr double kFlops = 1e11;  // of a search
constexpr int64_t kPart = 64;    // one of so many elements has to lie beyond the threshold

// How many elements of a threshold's operand lie on either side.
struct Sides {
  int64_t below = 0, above = 0, all = 0;
  bool finite = true;

  int64_t part() const { return std::max<int64_t>(1, all / kPart); }
  bool crossed() const {
    // One element is on one side at a time.
    return finite && (all == 1 || (below >= part() && above >= part()));
  }
};

Sides sides_of(const at::Tensor& operand, double at) {
  return {operand.lt(at).sum().item<int64_t>(), operand.gt(at).sum().item<int64_t>(),
          operand.numel(), operand.isfinite().all().item<bool>()};
}

// Returns the forward steps before the threshold's, as a program that returns its operand.
Program until(const Program& forward, const Threshold& threshold) {
  Program out = forward;
  out.steps.resize(static_cast<size_t>(threshold.step));
  out.outputs = {threshold.operand};
  return out;
}

std::vector<at::Tensor> joined(std::vector<at::Tensor> all, const std::vector<at::Tensor>& more) {
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

// Runs the steps before a threshold on scaled copies of what was drawn.
class Before {
 public:
  Before(const Task& task, const Threshold& threshold, const std::vector<at::Tensor>& state,
         const std::vector<at::Tensor>& inputs, uint64_t seed)
      : threshold_(threshold),
        state_(copies_on_cpu(state)),
        inputs_(copies_on_cpu(inputs)),
        seed_(derive_seed(seed, Purpose::kForward)),
        derive_(task.derive, task.kernels, nullptr, at::kCPU),
        steps_(until(task.forward, threshold), task.kernels, nullptr, at::kCPU) {}

  Sides sides(const Scaling& scaling) {
    std::vector<at::Tensor> state = copies_on_cpu(state_), inputs = copies_on_cpu(inputs_);
    scale(scaling, state, inputs);
    const auto derived = derive_.run(state, ReplayOptions(Unwritten::kZeros));
    seed_generators(seed_);
    const auto out =
        steps_.run(joined(joined(state, derived), inputs), ReplayOptions(Unwritten::kZeros));
    return sides_of(out.at(0), threshold_.at);
  }

 private:
  const Threshold& threshold_;
  const std::vector<at::Tensor> state_, inputs_;
  const uint64_t seed_;
  Replay derive_, steps_;
};

// Returns what may be scaled: all inputs together, then inputs and parameters alone, as far as the
// threshold's operand comes from them.
std::vector<Scaling> candidates(const Task& task, const Threshold& threshold) {
  const Program before = until(task.forward, threshold);
  const Lineage lineage = lineage_of(before, task.kernels, {threshold.operand});
  const auto counts = [&](size_t input) {
    const Value& value = before.values[before.inputs[input]];
    return is_floating(value.dtype) && lineage.storages[value.storage];
  };
  Scaling together;
  std::vector<Scaling> alone;
  const size_t first_input = before.inputs.size() - task.inputs.outputs.size();
  for (size_t i = first_input; i < before.inputs.size(); ++i) {
    if (!counts(i)) continue;
    together.inputs.push_back(i - first_input);
    alone.push_back({.state = {}, .inputs = {i - first_input}});
  }
  // A threshold of parameters alone, such as the limit of a logit scale, comes first.
  for (size_t i = 0; i < task.state.size(); ++i) {
    if (counts(i)) alone.push_back({.state = {i}, .inputs = {}});
  }
  if (alone.size() > kAlone) alone.resize(kAlone);
  if (together.inputs.size() > 1) alone.insert(alone.begin(), together);
  return alone;
}

}  // namespace

void scale(const Scaling& scaling, const std::vector<at::Tensor>& state,
           const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> some;
  for (const size_t i : scaling.state) some.push_back(state[i]);
  for (const size_t i : scaling.inputs) some.push_back(inputs[i]);
  scale_storages(some, scaling.factor);
}

Scaling CrossedInputs::search(const Threshold& threshold, const std::vector<at::Tensor>& state,
                              const std::vector<at::Tensor>& inputs, uint64_t seed) const {
  Before before(task_, threshold, state, inputs, seed);
  const Sides drawn = before.sides({});
  if (drawn.all > 1 && drawn.crossed()) throw ReplayError("its draws cross the threshold");
  const bool from_below = drawn.below >= drawn.above;
  const double flops = program_cost(until(task_.forward, threshold)).flops;
  double left = kFlops - flops;
  for (Scaling tried : candidates(task_, threshold)) {
    for (const double sign : {1.0, -1.0}) {
      tried.factor = sign;
      for (int i = 0; i < kFactors && left > 0; ++i) {
        tried.factor *= kStep;
        left -= flops;
        const Sides found = before.sides(tried);
        if (!found.finite) break;
        if ((from_below ? found.above : found.below) >= found.part()) return tried;
      }
    }
  }
  throw ReplayError("no factor of its inputs crosses the threshold");
}

Scaling CrossedInputs::scaling(size_t threshold, const std::vector<at::Tensor>& state,
                               const std::vector<at::Tensor>& inputs, uint64_t seed) {
  c10::InferenceMode inference;
  if (threshold >= thresholds_.size()) throw ReplayError("it names no such threshold");
  const std::pair key(seed, threshold);
  if (!found_.contains(key)) {
    found_[key] = std::nullopt;
    found_[key] = search(thresholds_[threshold], state, inputs, seed);
  }
  if (!found_[key]) throw ReplayError("no factor of its inputs crosses the threshold");
  return *found_[key];
}

}  // namespace kw::exec
