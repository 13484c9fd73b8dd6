#include "executor/replay/whole_inputs.h"

#include <algorithm>
#include <optional>

#include "executor/aten/seeds.h"
#include "formats/base/error.h"
#include "program/cost.h"

namespace kw::exec {
namespace {

constexpr double kMostFlops = 1e11;  // of a run on the CPU
constexpr size_t kMostAlone = 4;     // sources that are changed alone

SourceChange change_of(Variation variation) {
  switch (variation) {
    case Variation::kEnds:
      return SourceChange::kEnds;
    case Variation::kNamed:
      return SourceChange::kNamed;
    case Variation::kShuffled:
      return SourceChange::kShuffle;
    default:
      return SourceChange::kOther;
  }
}

// Returns whether two tensors hold the same, NaN where the other has NaN.
bool same(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return false;
  return a.eq(b).logical_or_(a.ne(a).logical_and_(b.ne(b))).all().item<bool>();
}

bool is_finite(const at::Tensor& tensor) { return tensor.isfinite().all().item<bool>(); }

}  // namespace

WholeInputs::WholeInputs(const Task& task, KernelSet* set, at::Device device)
    : task_(task),
      split_(split_sources(task.inputs)),
      named_(named_integers(task.forward)),
      counts_last_(writes_by_index(task.forward)),
      sources_(split_.made, task.kernels, set, device, true),
      rest_(split_.rest, task.kernels, set, device, true) {}

std::vector<WholeInputs::Attempt> WholeInputs::attempts(SourceChange change, uint64_t seed) const {
  std::vector<size_t> fit;
  for (size_t i = 0; i < split_.sources.size(); ++i) {
    if (applies(change, split_.made, split_.sources[i])) fit.push_back(i);
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
  seed_generators(derive_seed(seed, Purpose::kInputs));
  std::vector<at::Tensor> all = state;
  // A constant is the same tensor in each run.
  for (const at::Tensor& source : sources_.run({}, ReplayOptions(EmptyFill::kZero))) {
    all.push_back(source.clone());
  }
  seed_generators(derive_seed(seed, Purpose::kSources));
  for (const size_t i : attempt.sources) {
    change_source(all[state.size() + i], split_.sources[i], change, named_, attempt.reach);
  }
  return rest_.run(std::move(all), ReplayOptions(EmptyFill::kZero));
}

WholeInputs::Taken WholeInputs::takes(const std::vector<at::Tensor>& all, uint64_t seed) {
  if (!on_cpu_) {
    if (program_cost(task_.forward).flops > kMostFlops) {
      throw ReplayError("it is too large to be tried on a CPU");
    }
    on_cpu_ = std::make_unique<Replay>(task_.forward, task_.kernels, nullptr, at::kCPU);
  }
  std::vector<at::Tensor> first;
  for (const EmptyFill fill : {EmptyFill::kPoison, EmptyFill::kNumbers}) {
    std::vector<at::Tensor> own;
    for (const at::Tensor& tensor : all) own.push_back(tensor.to(at::kCPU).clone());
    seed_generators(derive_seed(seed, Purpose::kForward));
    std::vector<at::Tensor> outputs;
    try {
      outputs = on_cpu_->run(std::move(own), ReplayOptions(fill));
    } catch (const ReplayError&) {
      return Taken::kNo;
    }
    if (first.empty()) {
      first = std::move(outputs);
    } else if (!std::ranges::equal(first, outputs, same)) {
      return Taken::kNo;
    }
  }
  return std::ranges::all_of(first, is_finite) ? Taken::kFinite : Taken::kNotFinite;
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
    const Taken taken = takes(all, seed);
    if (taken == Taken::kFinite) return i;
    if (taken == Taken::kNotFinite && !not_finite) not_finite = i;
  }
  if (not_finite) return *not_finite;
  throw ReplayError("it takes no such whole numbers");
}

std::vector<at::Tensor> WholeInputs::draw(const std::vector<at::Tensor>& state,
                                          const std::vector<at::Tensor>& derived, uint64_t seed,
                                          Variation variation) {
  c10::InferenceMode inference;
  const bool runs_on_cpu = std::ranges::none_of(
      task_.forward.steps, [](const Step& step) { return std::holds_alternative<Launch>(step); });
  if (!runs_on_cpu) throw ReplayError("its forward launches kernels");
  const SourceChange change = change_of(variation);
  const std::vector<Attempt> plan = attempts(change, seed);
  const std::pair key(seed, variation);
  if (!taken_.contains(key)) taken_[key] = choose(plan, state, derived, seed, change);
  return made(state, seed, change, plan[taken_.at(key)]);
}

}  // namespace kw::exec
