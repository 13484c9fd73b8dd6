#include "executor/trial/reference_side.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "executor/compare/errors.h"
#include "executor/compare/scales.h"
#include "executor/discrete/integers.h"
#include "executor/replay/oracle.h"
#include "executor/replay/vary.h"

namespace kw::exec {
namespace {

// A trivial answer counts as passing if its error is within this factor of the reference's own, as
// a candidate's would be (docs/numerics.md).
constexpr double kPassFactor = 4;

// Calls visit(tensor) for each tensor of `side`, in the order of ReferenceSide::tensors().
template <class Side, class Visit>
void for_each_tensor(Side& side, const Visit& visit) {
  for (auto& output : side.outputs) {
    visit(output.reference);
    visit(output.oracle);
    visit(output.as_kernels);
    visit(output.ties_flipped);
  }
  for (auto& rule : side.rules) {
    visit(rule.source);
    visit(rule.tolerance);
    visit(rule.reference_source);
  }
  for (auto& input : side.inputs) {
    visit(input.after);
    visit(input.exact.exact);
  }
}

// Returns whether the whole output may be zero on this device.
bool is_flushed(const OutputSide& output) {
  const at::Tensor& own = output.reference;
  return own.is_floating_point() &&
         output.errors.oracle_rms <= flushed_below(dtype_of(own.scalar_type()));
}

// Returns whether `answers` in place of the reference's outputs would be within tolerance.
bool would_pass(const std::vector<at::Tensor>& answers, const ReferenceSide& side,
                at::Device device) {
  for (size_t i = 0; i < answers.size(); ++i) {
    const OutputSide& output = side.outputs[i];
    if (!answers[i].is_floating_point()) {
      if (!bit_equal(answers[i], output.reference)) return false;
      continue;
    }
    const double floor = dtype_eps(dtype_of(output.reference.scalar_type()));
    const ErrorSums sums = error_against(answers[i], output.oracle, device);
    const double allowed = kPassFactor * std::max(output.errors.reference_rms, floor);
    if (sums.rms > allowed && !is_flushed(output)) return false;
  }
  return true;
}

bool zeros_would_pass(const ReferenceSide& side) {
  return std::ranges::all_of(side.outputs, [](const OutputSide& output) {
    // The error of zeros is the oracle itself: relative RMS 1.
    const bool all_zero = output.errors.oracle_max == 0 || is_flushed(output);
    return all_zero ||
           (output.reference.is_floating_point() && kPassFactor * output.errors.reference_rms >= 1);
  });
}

// Returns the reference's inputs. They are copies if a run overwrites any of them.
std::vector<at::Tensor> inputs_for_another_run(LoadedTask& reference, const Draw& draw,
                                               Guards& copies) {
  const auto& mutated = reference.forward().mutated_inputs();
  const bool overwrites = std::find(mutated.begin(), mutated.end(), true) != mutated.end();
  return overwrites ? copies.copy(draw.all()) : draw.all();
}

// Overwrites answers that are not kept in `side`, because later kernels may find freed memory.
void forget(std::span<const at::Tensor> answers, const std::vector<at::Tensor>& inputs,
            const ReferenceSide& side) {
  for (const at::Tensor& answer : answers) {
    bool is_kept = false;
    const auto look = [&](const at::Tensor& tensor) {
      is_kept = is_kept || (tensor.defined() && tensor.is_alias_of(answer));
    };
    std::ranges::for_each(inputs, look);
    for_each_tensor(side, look);
    if (!is_kept) poison_storage(answer);
  }
}

// Raises the allowed error of each updated input to that of `after`, what a run of the reference
// left of it.
void take_update_errors(const std::vector<at::Tensor>& after, ReferenceSide& side) {
  for (size_t i = 0; i < after.size(); ++i) {
    UpdateOracle& oracle = side.inputs[i].exact;
    if (!oracle.exact.defined()) continue;
    oracle.error = std::max(oracle.error, update_error(after[i], oracle.exact));
  }
}

// Raises the allowed errors of `output` to those of `answer`. The reference with other arithmetic,
// or on perturbed inputs, is as right as the reference, so no candidate has to be better than it.
// Returns whether `answer` is further off than what was allowed.
bool allow_errors(const at::Tensor& answer, OutputSide& output, at::Device device) {
  const OutputErrors errors = reference_errors(answer, output.oracle, device);
  OutputErrors& allowed = output.errors;
  if (errors.finite == 0) return false;
  allowed.reference_worst = std::max(allowed.reference_worst, errors.reference_worst);
  if (errors.reference_rms <= allowed.reference_rms) return false;
  allowed.reference_rms = errors.reference_rms;
  return true;
}

// Returns for each element the answer that is further off.
at::Tensor further_off(const at::Tensor& one, const at::Tensor& other, const at::Tensor& oracle) {
  const at::Tensor is_other = (other - oracle).abs().gt((one - oracle).abs());
  return at::where(is_other.logical_and_(other.isfinite()), other, one);
}

// Raises the tolerances of index outputs to what `outputs` allow, those of a run of traced(). Near
// ties of quantized outputs have a separate run.
void allow_discrete_errors(const std::vector<DiscreteOutput>& discrete_outputs,
                           const std::vector<at::Tensor>& outputs, ReferenceSide& side) {
  for (size_t i = 0; i < discrete_outputs.size(); ++i) {
    if (discrete_outputs[i].discontinuity) continue;
    allow_errors_of(discrete_outputs[i], outputs[side.outputs.size() + i], side.rules[i]);
  }
}

// Allows the errors of plain kernels, which may be further off than this device's PyTorch.
void allow_kernel_arithmetic(LoadedTask& reference, const std::vector<at::Tensor>& inputs,
                             uint64_t seed, ReferenceSide& side, at::Device device) {
  seed_generators(seed);
  const auto outputs = reference.traced().run(inputs, ReplayOptions::as_kernels());
  take_update_errors(inputs, side);
  allow_discrete_errors(reference.discrete_outputs(), outputs, side);
  for (size_t i = 0; i < side.outputs.size(); ++i) {
    if (!outputs[i].is_floating_point()) continue;
    if (allow_errors(outputs[i], side.outputs[i], device)) side.outputs[i].as_kernels = outputs[i];
  }
  forget(outputs, inputs, side);
}

// Allows what flipping near ties changes, on top of the other errors.
void allow_near_ties(LoadedTask& reference, const std::vector<at::Tensor>& inputs, uint64_t seed,
                     ReferenceSide& side, at::Device device) {
  seed_generators(seed);
  const auto outputs = reference.forward().run(inputs, ReplayOptions::ties_flipped());
  take_update_errors(inputs, side);
  for (size_t i = 0; i < outputs.size(); ++i) {
    OutputSide& output = side.outputs[i];
    if (!outputs[i].is_floating_point()) {
      if (!bit_equal(outputs[i], output.reference)) output.ties_flipped = outputs[i];
      continue;
    }
    const ErrorSums change = error_against(outputs[i], output.reference, device);
    if (!(change.rms > 0)) continue;
    output.errors.near_rms = change.rms;
    output.errors.near_worst = change.worst;
    output.ties_flipped = outputs[i];
  }
  forget(outputs, inputs, side);
}

// Allows the largest error of three runs on inputs that are off by one unit in the last place.
//
// A result that is divided by numbers near zero is as far off as its inputs are known. Few elements
// then have nearly all of the error, and the reference's own error is a matter of luck. If the
// request asks for it, the runs compute as kernels do and every output counts. Otherwise an output
// counts only if its own worst error is beyond kIllConditioned units.
//
// On zeros and rows of one number, programs make equal numbers and divide what roundings left of
// them. There each step's result is also off by a unit. Elsewhere that would allow several times
// what ill-conditioned programs err. Inputs of half types are not asked for, as their units are
// coarser than what kernels compute in. In a cross-section of few elements that matter, each run
// has luck of its own, so there each element's worst error counts.
void allow_perturbed_inputs(LoadedTask& reference, const Draw& draw, uint64_t seed,
                            const Varied& varied, ReferenceSide& side, at::Device device) {
  constexpr int kPerturbedRuns = 3;
  constexpr double kIllConditioned = 64;  // units in the last place
  const auto unit = [](const at::Tensor& x) { return dtype_eps(dtype_of(x.scalar_type())); };
  double coarsest = 0;
  for (const at::Tensor& input : draw.inputs) coarsest = std::max(coarsest, unit(input));
  const bool asked = varied.neighbours && coarsest <= dtype_eps(DType::kFloat32);
  std::vector<size_t> ill;
  for (size_t i = 0; i < side.outputs.size(); ++i) {
    const OutputSide& output = side.outputs[i];
    const double own_unit = unit(output.reference), eps = std::max(coarsest, own_unit);
    const bool is_ill = asked || output.errors.reference_worst > kIllConditioned * eps;
    if (own_unit > 0 && is_ill) ill.push_back(i);
  }
  const bool zeros = varied.variation == Variation::kZeros ||
                     varied.variation == Variation::kBlank ||
                     varied.variation == Variation::kConstant;
  const bool chooses = asked && !reference.discrete_outputs().empty();
  for (int n = 0; n < kPerturbedRuns && (chooses || !ill.empty()); ++n) {
    Guards copies = Guards::overwriting(device);
    std::vector<at::Tensor> inputs = inputs_for_another_run(reference, draw, copies);
    const auto moved = inputs.end() - static_cast<long>(draw.inputs.size());
    const std::vector<at::Tensor> own = copies.copy(draw.inputs);
    std::copy(own.begin(), own.end(), moved);
    move_by_about_a_unit(own, seed + static_cast<uint64_t>(n));
    seed_generators(seed);
    std::vector<at::Tensor> outputs;
    try {
      outputs = reference.traced().run(
          inputs, asked ? ReplayOptions::perturbed(n + 1, zeros) : ReplayOptions::reference());
    } catch (const ReplayError&) {
      continue;  // a unit may lead out of an operator's domain
    }
    if (asked) allow_discrete_errors(reference.discrete_outputs(), outputs, side);
    std::vector<at::Tensor> replaced;
    for (size_t i : ill) {
      OutputSide& output = side.outputs[i];
      allow_errors(outputs[i], output, device);
      const at::Tensor furthest = further_off(output.furthest_off(), outputs[i], output.oracle);
      if (output.as_kernels.defined()) replaced.push_back(output.as_kernels);
      output.as_kernels = furthest;
    }
    forget(outputs, inputs, side);
    forget(replaced, inputs, side);
  }
}

// Returns how many elements of an output on integers say something about a candidate. There are
// none if the reference itself is wrong in one.
int64_t integer_elements(const OutputSide& output) {
  if (!output.reference.is_floating_point()) return 0;
  const IntegerAnswers found = integer_answers(output.reference, output.oracle);
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
  const auto answers = reference.forward().run(inputs, ReplayOptions::reference());
  return would_pass(answers, side, device);
}

// Sets outputs and rules of `side` from what runs of traced() and of the oracle returned. The
// sources of discrete outputs follow the program's outputs in both.
void take_outputs(const std::vector<DiscreteOutput>& discrete_outputs,
                  std::vector<at::Tensor> reference, std::vector<at::Tensor> oracle,
                  const std::vector<at::Tensor>& inputs, ReferenceSide& side) {
  const size_t outputs = reference.size() - discrete_outputs.size();
  for (size_t i = 0; i < outputs; ++i) side.outputs.push_back({reference[i], oracle[i]});
  for (size_t i = 0; i < discrete_outputs.size(); ++i) {
    side.rules.push_back(
        discrete_rule(discrete_outputs[i], reference[outputs + i], oracle[outputs + i]));
  }
  forget(std::span(reference).subspan(outputs), inputs, side);
}

// Sets what the call left of the inputs that it changes. `exact` is what the oracle left of them.
void take_inputs(const std::vector<bool>& mutated, const std::vector<at::Tensor>& after,
                 const std::vector<at::Tensor>& exact, ReferenceSide& side) {
  for (size_t i = 0; i < after.size(); ++i) {
    InputSide& input = side.inputs.emplace_back();
    if (!mutated[i]) continue;
    input.after = after[i].clone();
    if (after[i].is_floating_point()) input.exact.exact = exact[i];
  }
  take_update_errors(after, side);
}

// Sets the reference's own errors of an output of this recorded dtype.
void take_errors(OutputSide& output, DType dtype, const Varied& varied, at::Device device) {
  output.errors = reference_errors(output.reference, output.oracle, device);
  if (varied.variation == Variation::kIntegers) output.errors.integers = integer_elements(output);
  output.errors.dtype = dtype_name(real_type(dtype));
  if (output.reference.is_floating_point())
    output.gap = scale_gap(output.oracle, output.reference.scalar_type());
}

}  // namespace

std::vector<at::Tensor> ReferenceSide::tensors() const {
  std::vector<at::Tensor> all;
  for_each_tensor(*this, [&](const at::Tensor& tensor) { all.push_back(tensor); });
  return all;
}

ReferenceSide ReferenceSide::with(std::vector<at::Tensor> tensors) const {
  ReferenceSide out = *this;
  auto next = tensors.begin();
  for_each_tensor(out, [&](at::Tensor& tensor) { tensor = std::move(*next++); });
  return out;
}

void ReferenceSide::scrub() const { for_each_tensor(*this, poison_storage); }

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
  std::optional<Draw> perturbed;
  // Sums that a task keeps away from zero come near it if signs are mixed.
  if (varied.neighbours || varied.variation == Variation::kMixedSigns) {
    const auto all = inputs_for_another_run(reference, draw, copies);
    perturbed = draw.with(all);
  }
  seed_generators(forward_seed);
  const std::vector<at::Tensor> wide = widened(inputs);
  auto oracle = reference.oracle().run(wide, ReplayOptions::reference());
  ended("reference: oracle");
  seed_generators(forward_seed);
  auto outputs = reference.traced().run(inputs, ReplayOptions::reference());
  ended("reference: outputs");
  take_outputs(reference.discrete_outputs(), std::move(outputs), std::move(oracle), inputs, side);
  take_inputs(reference.forward().mutated_inputs(), inputs, wide, side);
  const Program& forward = reference.task().forward;
  for (size_t i = 0; i < side.outputs.size(); ++i) {
    take_errors(side.outputs[i], forward.values[forward.outputs[i]].dtype, varied, device);
  }
  ended("reference: errors");
  if (kernels) allow_kernel_arithmetic(reference, again, forward_seed, side, device);
  ended("reference: as kernels do");
  if (ties) allow_near_ties(reference, once_more, forward_seed, side, device);
  ended("reference: near ties");
  if (perturbed) allow_perturbed_inputs(reference, *perturbed, forward_seed, varied, side, device);
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

}  // namespace kw::exec
