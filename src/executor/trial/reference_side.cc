#include "executor/trial/reference_side.h"

#include <algorithm>
#include <array>
#include <ranges>
#include <span>
#include <utility>

#include "executor/compare/errors.h"
#include "executor/compare/scales.h"
#include "executor/discrete/integers.h"
#include "executor/replay/oracle.h"
#include "executor/replay/vary.h"

namespace kw {
namespace {

// A trivial answer counts as passing when its error is within this factor of the reference's own,
// as a candidate's would (docs/numerics.md).
constexpr double kPassFactor = 4;

// Whether the whole output may be zero on this device.
bool is_flushed(const ReferenceSide& side, size_t output) {
  const at::Tensor& own = side.outputs[output];
  return own.is_floating_point() &&
         side.errors[output].oracle_rms <= flushed_below(dtype_of(own.scalar_type()));
}

// Whether answering `outputs` instead of the reference's would be within tolerance everywhere.
bool would_pass(const std::vector<at::Tensor>& answers, const ReferenceSide& side,
                at::Device device) {
  for (size_t i = 0; i < answers.size(); ++i) {
    if (!answers[i].is_floating_point()) {
      if (!bit_equal(answers[i], side.outputs[i])) return false;
      continue;
    }
    const double floor = dtype_eps(dtype_of(side.outputs[i].scalar_type()));
    const ErrorSums sums = error_against(answers[i], side.oracle[i], device);
    const double allowed = kPassFactor * std::max(side.errors[i].reference_rms, floor);
    if (sums.rms > allowed && !is_flushed(side, i)) return false;
  }
  return true;
}

bool zeros_would_pass(const ReferenceSide& side) {
  for (size_t i = 0; i < side.outputs.size(); ++i) {
    // The error of zero is the oracle itself: relative RMS 1.
    const bool all_zero = side.errors[i].oracle_max == 0 || is_flushed(side, i);
    if (!all_zero &&
        (!side.outputs[i].is_floating_point() || kPassFactor * side.errors[i].reference_rms < 1)) {
      return false;
    }
  }
  return true;
}

// The reference's inputs, apart from `draw` where a run overwrites them.
std::vector<at::Tensor> inputs_for_another_run(LoadedTask& reference, const Draw& draw,
                                               Guards& copies) {
  const auto& mutated = reference.forward().mutated_inputs();
  const bool overwrites = std::find(mutated.begin(), mutated.end(), true) != mutated.end();
  return overwrites ? copies.copy(draw.all()) : draw.all();
}

// Overwrites answers that nobody keeps: later kernels may find freed memory.
void forget(std::span<const at::Tensor> answers, const std::vector<at::Tensor>& inputs,
            const ReferenceSide& side) {
  for (const at::Tensor& answer : answers) {
    const bool is_kept = std::ranges::any_of(
        std::array{&inputs, &side.outputs, &side.rounded, &side.fallen, &side.found},
        [&](const auto* tensors) {
          return std::ranges::any_of(*tensors, [&](const at::Tensor& tensor) {
            return tensor.defined() && tensor.is_alias_of(answer);
          });
        });
    if (!is_kept) poison_storage(answer);
  }
}

// What a run of the reference left of the inputs that it overwrites may be as far off.
void take_update_errors(const std::vector<at::Tensor>& after, ReferenceSide& side) {
  for (size_t i = 0; i < after.size(); ++i) {
    const at::Tensor& exact = side.exactly_after[i];
    if (!exact.defined()) continue;
    side.after_errors[i] = std::max(side.after_errors[i], update_error(after[i], exact));
  }
}

// The reference with other arithmetic, or on other inputs, is as right as it: nobody has to be
// better than `answer` either. Returns whether it is further off than what was allowed.
bool allow_errors(const at::Tensor& answer, size_t output, ReferenceSide& side, at::Device device) {
  const OutputErrors errors = reference_errors(answer, side.oracle[output], device);
  OutputErrors& allowed = side.errors[output];
  if (errors.finite == 0) return false;
  allowed.reference_worst = std::max(allowed.reference_worst, errors.reference_worst);
  if (errors.reference_rms <= allowed.reference_rms) return false;
  allowed.reference_rms = errors.reference_rms;
  return true;
}

// Of each element the answer that is further off.
at::Tensor further_off(const at::Tensor& one, const at::Tensor& other, const at::Tensor& oracle) {
  const at::Tensor is_other = (other - oracle).abs().gt((one - oracle).abs());
  return at::where(is_other.logical_and_(other.isfinite()), other, one);
}

// Nor may indices be nearer to one another than among the elements of `outputs`, of a run of
// traced(). Near ties of codes fall in a run of their own.
void allow_errors_of_choices(const std::vector<Choice>& choices,
                             const std::vector<at::Tensor>& outputs, ReferenceSide& side) {
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i].jump) continue;
    ChoiceRule rule = {side.among[i], side.slack[i]};
    allow_errors_of(choices[i], outputs[side.outputs.size() + i], rule);
    side.slack[i] = rule.slack;
  }
}

// Plain kernels may be further off than this device's PyTorch happens to be.
void allow_kernel_arithmetic(LoadedTask& reference, const std::vector<at::Tensor>& inputs,
                             uint64_t seed, ReferenceSide& side, at::Device device) {
  seed_generators(seed);
  const auto outputs = reference.traced().run(
      inputs, {.fill = EmptyFill::kPoison, .overwrites = true, .as_kernels_do = true});
  take_update_errors(inputs, side);
  allow_errors_of_choices(reference.choices(), outputs, side);
  for (size_t i = 0; i < side.outputs.size(); ++i) {
    if (!outputs[i].is_floating_point()) continue;
    if (allow_errors(outputs[i], i, side, device)) side.rounded[i] = outputs[i];
  }
  forget(outputs, inputs, side);
}

// What it changes when near ties fall the other way comes on top of what a candidate may err.
void allow_near_ties(LoadedTask& reference, const std::vector<at::Tensor>& inputs, uint64_t seed,
                     ReferenceSide& side, at::Device device) {
  seed_generators(seed);
  const auto outputs = reference.forward().run(
      inputs, {.fill = EmptyFill::kPoison, .overwrites = true, .near_ties_fall = true});
  take_update_errors(inputs, side);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].is_floating_point()) {
      if (!bit_equal(outputs[i], side.outputs[i])) side.fallen[i] = outputs[i];
      continue;
    }
    const ErrorSums change = error_against(outputs[i], side.outputs[i], device);
    if (!(change.rms > 0)) continue;
    side.errors[i].near_rms = change.rms;
    side.errors[i].near_worst = change.worst;
    side.fallen[i] = outputs[i];
  }
  forget(outputs, inputs, side);
}

// What is divided by numbers near zero is as far off as the inputs are known, and few elements have
// nearly all of the error: the reference's own is a matter of luck. Errors count that it has on
// inputs one unit in the last place off: of every output, as kernels compute it, when that is asked
// for, else where its own error says so. On zeros, where programs make equal numbers and divide
// what roundings left of them, each step is right to a unit alone; elsewhere that would be several
// times what ill-conditioned programs err. A unit of half types is not what kernels compute by:
// there nothing is asked for. In a cross-section of few elements that matter each run has luck of
// its own, so of each element the worst counts there.
void allow_neighbours(LoadedTask& reference, const Draw& draw, uint64_t seed, const Varied& varied,
                      ReferenceSide& side, at::Device device) {
  constexpr int kNeighbours = 3;
  constexpr double kIllConditioned = 64;  // units in the last place
  const auto unit = [](const at::Tensor& x) { return dtype_eps(dtype_of(x.scalar_type())); };
  double coarsest = 0;
  for (const at::Tensor& input : draw.inputs) coarsest = std::max(coarsest, unit(input));
  const bool asked = varied.neighbours && coarsest <= dtype_eps(DType::kFloat32);
  std::vector<size_t> ill;
  for (size_t i = 0; i < side.outputs.size(); ++i) {
    const double eps = std::max(coarsest, unit(side.outputs[i]));
    const bool is_ill = asked || side.errors[i].reference_worst > kIllConditioned * eps;
    if (unit(side.outputs[i]) > 0 && is_ill) ill.push_back(i);
  }
  const bool zeros = varied.variation == Variation::kZeros || varied.variation == Variation::kBlank;
  const bool chooses = asked && !reference.choices().empty();
  for (int n = 0; n < kNeighbours && (chooses || !ill.empty()); ++n) {
    Guards copies = Guards::overwriting(device);
    std::vector<at::Tensor> inputs = inputs_for_another_run(reference, draw, copies);
    const auto moved = inputs.end() - static_cast<long>(draw.inputs.size());
    const std::vector<at::Tensor> own = copies.copy(draw.inputs);
    std::copy(own.begin(), own.end(), moved);
    move_by_about_a_unit(own, seed + static_cast<uint64_t>(n));
    seed_generators(seed);
    std::vector<at::Tensor> outputs;
    try {
      outputs = reference.traced().run(inputs, {.fill = EmptyFill::kPoison,
                                                .overwrites = true,
                                                .as_kernels_do = asked,
                                                .dither = asked ? n + 1 : 0,
                                                .round_otherwise = asked && zeros});
    } catch (const ReplayError&) {
      continue;  // a unit may lead out of an operator's domain
    }
    if (asked) allow_errors_of_choices(reference.choices(), outputs, side);
    std::vector<at::Tensor> replaced;
    for (size_t i : ill) {
      allow_errors(outputs[i], i, side, device);
      at::Tensor& rounded = side.rounded[i];
      if (rounded.defined()) replaced.push_back(rounded);
      rounded =
          further_off(rounded.defined() ? rounded : side.outputs[i], outputs[i], side.oracle[i]);
    }
    forget(outputs, inputs, side);
    forget(replaced, inputs, side);
  }
}

// Elements of an output on integers that say something of a candidate: none where the reference
// itself errs in one.
int64_t integer_elements(const ReferenceSide& side, size_t output) {
  if (!side.outputs[output].is_floating_point()) return 0;
  const IntegerAnswers found = integer_answers(side.outputs[output], side.oracle[output]);
  return found.whole && found.wrong == 0 ? found.judged : 0;
}

bool stale_would_pass(LoadedTask& reference, const Draw& draw, uint64_t seed,
                      const ReferenceSide& side, at::Device device) {
  Draw other = draw;
  const uint64_t stale_seed = derive_seed(seed, Purpose::kStale);
  other.inputs = reference.draw_inputs(draw.state, stale_seed);
  Guards copies = Guards::overwriting(device);
  const std::vector<at::Tensor> inputs = inputs_for_another_run(reference, other, copies);
  seed_generators(derive_seed(stale_seed, Purpose::kForward));
  const auto answers =
      reference.forward().run(inputs, {.fill = EmptyFill::kPoison, .overwrites = true});
  return would_pass(answers, side, device);
}

// What indices are held to stands behind the outputs of both runs.
void take_choices(const std::vector<Choice>& choices, const std::vector<at::Tensor>& inputs,
                  ReferenceSide& side) {
  const size_t outputs = side.outputs.size() - choices.size();
  for (size_t i = 0; i < choices.size(); ++i) {
    const ChoiceRule rule =
        choice_rule(choices[i], side.outputs[outputs + i], side.oracle[outputs + i]);
    side.among.push_back(rule.among);
    side.slack.push_back(rule.slack);
    side.found.push_back(rule.found);
  }
  const std::vector<at::Tensor> among(side.outputs.begin() + static_cast<long>(outputs),
                                      side.outputs.end());
  side.outputs.resize(outputs);
  side.oracle.resize(outputs);
  forget(among, inputs, side);
}

}  // namespace

std::vector<at::Tensor> ReferenceSide::tensors() const {
  std::vector<at::Tensor> all = outputs;
  all.insert(all.end(), oracle.begin(), oracle.end());
  all.insert(all.end(), rounded.begin(), rounded.end());
  all.insert(all.end(), fallen.begin(), fallen.end());
  all.insert(all.end(), among.begin(), among.end());
  all.insert(all.end(), slack.begin(), slack.end());
  all.insert(all.end(), found.begin(), found.end());
  all.insert(all.end(), after.begin(), after.end());
  all.insert(all.end(), exactly_after.begin(), exactly_after.end());
  return all;
}

ReferenceSide ReferenceSide::with(std::vector<at::Tensor> tensors) const {
  ReferenceSide out = *this;
  auto next = tensors.begin();
  for (auto* part : {&out.outputs, &out.oracle, &out.rounded, &out.fallen, &out.among, &out.slack,
                     &out.found, &out.after, &out.exactly_after}) {
    for (at::Tensor& tensor : *part) tensor = std::move(*next++);
  }
  return out;
}

void ReferenceSide::scrub() const {
  for (const auto* tensors :
       {&outputs, &oracle, &rounded, &fallen, &among, &slack, &found, &after, &exactly_after}) {
    for (const at::Tensor& tensor : *tensors) poison_storage(tensor);
  }
}

ReferenceSide run_reference(LoadedTask& reference, const Draw& draw, uint64_t seed,
                            const Varied& varied, at::Device device, Phases* phases) {
  const auto ended = [phases](const char* phase) {
    if (phases) phases->end(phase);
  };
  c10::InferenceMode inference;
  ReferenceSide side;
  const uint64_t forward_seed = derive_seed(seed, Purpose::kForward);
  const std::vector<at::Tensor> inputs = draw.all();
  Guards copies = Guards::overwriting(device);
  std::vector<at::Tensor> again, once_more;
  const bool kernels = reference.forward().has_kernel_arithmetic();
  const bool ties = reference.forward().has_near_ties();
  if (kernels) again = inputs_for_another_run(reference, draw, copies);
  if (ties) once_more = inputs_for_another_run(reference, draw, copies);
  std::optional<Draw> neighbours;
  // Sums that a task keeps away from zero come near it where signs are mixed.
  if (varied.neighbours || varied.variation == Variation::kMixedSigns) {
    const auto all = inputs_for_another_run(reference, draw, copies);
    neighbours = draw.with(all);
  }
  seed_generators(forward_seed);
  const std::vector<at::Tensor> wide = widened(inputs);
  side.oracle = reference.oracle().run(wide, {.fill = EmptyFill::kPoison, .overwrites = true});
  ended("reference: oracle");
  seed_generators(forward_seed);
  side.outputs = reference.traced().run(inputs, {.fill = EmptyFill::kPoison, .overwrites = true});
  ended("reference: outputs");
  take_choices(reference.choices(), inputs, side);
  const auto& mutated = reference.forward().mutated_inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    side.after.push_back(mutated[i] ? inputs[i].clone() : at::Tensor());
    const bool rounds = mutated[i] && inputs[i].is_floating_point();
    side.exactly_after.push_back(rounds ? wide[i] : at::Tensor());
  }
  side.after_errors.resize(inputs.size());
  take_update_errors(side.after, side);
  const Program& forward = reference.task().forward;
  for (size_t i = 0; i < side.outputs.size(); ++i) {
    side.errors.push_back(reference_errors(side.outputs[i], side.oracle[i], device));
    if (varied.variation == Variation::kIntegers)
      side.errors[i].integers = integer_elements(side, i);
    side.errors[i].dtype = dtype_name(forward.values[forward.outputs[i]].dtype);
    const at::Tensor& output = side.outputs[i];
    side.gaps.push_back(output.is_floating_point() ? scale_gap(side.oracle[i], output.scalar_type())
                                                   : 0);
  }
  ended("reference: errors");
  side.rounded.resize(side.outputs.size());
  side.fallen.resize(side.outputs.size());
  if (kernels) allow_kernel_arithmetic(reference, again, forward_seed, side, device);
  ended("reference: as kernels do");
  if (ties) allow_near_ties(reference, once_more, forward_seed, side, device);
  ended("reference: near ties");
  if (neighbours) allow_neighbours(reference, *neighbours, forward_seed, varied, side, device);
  ended("reference: neighbours");
  side.passes_zeros = zeros_would_pass(side);
  if (varied.variation == Variation::kPlain && !reference.passes_stale) {
    reference.passes_stale = stale_would_pass(reference, draw, seed, side, device);
  }
  side.passes_stale = reference.passes_stale.value_or(false);
  ended("reference: trivial answers");
  return side;
}

CachedReference ReferenceCache::find(const ReferenceKey& key) {
  const auto it = std::find_if(entries_.begin(), entries_.end(),
                               [&](const Entry& entry) { return entry.key == key; });
  if (it == entries_.end()) return {};
  entries_.splice(entries_.begin(), entries_, it);
  return it->value;
}

bool ReferenceCache::make_room(int task, int64_t bytes) {
  if (bytes > budget_) return false;
  const auto of_task = [&](const Entry& entry) { return std::get<0>(entry.key) == task; };
  const auto added_before = [](const Entry& a, const Entry& b) { return a.added < b.added; };
  while (bytes_ + bytes > budget_) {
    const auto oldest = std::find_if_not(entries_.rbegin(), entries_.rend(), of_task);
    const auto leaves = oldest == entries_.rend()
                            ? std::max_element(entries_.begin(), entries_.end(), added_before)
                            : std::next(oldest).base();
    bytes_ -= leaves->value.bytes;
    entries_.erase(leaves);
  }
  return true;
}

void ReferenceCache::put(const ReferenceKey& key, CachedReference entry) {
  bytes_ += entry.bytes;
  entries_.push_front({key, std::move(entry), ++added_});
}

void ReferenceCache::forget(int task) {
  std::erase_if(entries_, [&](const Entry& entry) {
    if (std::get<0>(entry.key) != task) return false;
    bytes_ -= entry.value.bytes;
    return true;
  });
}

void ReferenceCache::clear() {
  entries_.clear();
  bytes_ = 0;
}

}  // namespace kw
