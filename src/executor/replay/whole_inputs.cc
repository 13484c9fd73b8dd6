#include "executor/replay/whole_inputs.h"

#include <algorithm>
#include <optional>

#include "executor/aten/seeds.h"
#include "formats/base/error.h"

namespace kw::exec {
namespace {

constexpr size_t kMostAlone = 4;  // sources that are changed alone

}  // namespace

WholeInputs::WholeInputs(const Task& task, SourcedReplay& inputs, CpuReference& on_cpu)
    : inputs_(inputs),
      on_cpu_(on_cpu),
      named_(named_integers(task.forward)),
      changes_(source_changes(task)),
      counts_last_(writes_by_index(task.forward)) {}

std::vector<WholeInputs::Attempt> WholeInputs::attempts(SourceChange change, uint64_t seed) const {
  std::vector<size_t> fit;
  const SourcedInputs& split = inputs_.split();
  for (size_t i = 0; i < split.sources.size(); ++i) {
    const Source& source = split.sources[i];
    // Numbers that may come twice would leave open which of two writes counts.
    if (change == SourceChange::kOther && counts_last_ && source.apart) continue;
    if (applies(change, split.made, source)) fit.push_back(i);
  }
  std::vector<Attempt> out;
  if (fit.empty()) return out;
  if (change != SourceChange::kShuffle || !counts_last_) out.push_back({fit, Reach::kBold});
  out.push_back({fit, Reach::kCareful});
  for (size_t i = 0; fit.size() > 1 && i < std::min(fit.size(), kMostAlone); ++i) {
    out.push_back({{fit[(seed + i) % fit.size()]}, Reach::kCareful});
  }
  return out;
}

std::vector<at::Tensor> WholeInputs::made(const std::vector<at::Tensor>& state, uint64_t seed,
                                          SourceChange change, const Attempt& attempt) {
  return inputs_.run(state, seed, [&](const std::vector<at::Tensor>& sources) {
    for (const size_t i : attempt.sources) {
      at::Tensor source = sources[i];
      change_source(source, inputs_.split().sources[i], change, named_, attempt.reach);
    }
  });
}

size_t WholeInputs::choose(const std::vector<Attempt>& plan, const std::vector<at::Tensor>& state,
                           const std::vector<at::Tensor>& derived, uint64_t seed,
                           SourceChange change) {
  std::optional<size_t> not_finite;
  for (size_t i = 0; i < plan.size(); ++i) {
    std::vector<at::Tensor> all = state, inputs;
    try {
      inputs = made(state, seed, change, plan[i]);
    } catch (const ReplayError&) {
      continue;  // steps of the inputs refuse it
    }
    all.insert(all.end(), derived.begin(), derived.end());
    all.insert(all.end(), inputs.begin(), inputs.end());
    const auto taken = on_cpu_.takes(all, seed);
    if (taken == CpuReference::Taken::kFinite) return i;
    if (taken == CpuReference::Taken::kNotFinite && !not_finite) not_finite = i;
  }
  if (not_finite) return *not_finite;
  throw ReplayError("it takes no such whole numbers");
}

std::vector<at::Tensor> WholeInputs::draw(const std::vector<at::Tensor>& state,
                                          const std::vector<at::Tensor>& derived, uint64_t seed,
                                          Variation variation) {
  c10::InferenceMode inference;
  const SourceChange change = source_change(variation).value();
  if (changes_.empty()) throw ReplayError("it has no whole numbers to change");
  const std::vector<Attempt> plan = attempts(change, seed);
  const std::pair key(seed, variation);
  if (!taken_.contains(key)) taken_[key] = choose(plan, state, derived, seed, change);
  return made(state, seed, change, plan[taken_.at(key)]);
}

}  // namespace kw::exec
