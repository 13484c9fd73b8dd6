#include "verify/trials.h"

#include <algorithm>
#include <cmath>

#include "formats/base/error.h"
#include "program/cost.h"
#include "program/inputs/sources.h"
#include "program/inputs/thresholds.h"
#include "program/rewrite/tables.h"

namespace kw {
namespace {

Json errors_to_json(const OutputErrors& e) {
  const ErrorBounds bounds = error_bounds(e);
  return {{"dtype", e.dtype},
          {"exact", e.exact_equal},
          {"reference_rms", e.reference_rms},
          {"candidate_rms", e.candidate_rms},
          {"allowed_rms", bounds.rms},
          {"reference_worst", e.reference_worst},
          {"candidate_worst", e.candidate_worst},
          {"allowed_worst", bounds.worst}};
}

bool reference_is_finite(const TrialReport& report) {
  return std::all_of(report.outputs.begin(), report.outputs.end(),
                     [](const OutputErrors& e) { return e.reference_finite; });
}

// A variance of equal numbers is nothing but rounding, and usual formulas differ in it by much. So
// what counts on rows of one number is off by an eighth of the output's usual RMS, and by more than
// anything that the reference has there.
OutputErrors gross_only(OutputErrors errors, double usual_rms) {
  constexpr double kShare = 0.125;
  const double scale = errors.oracle_rms > 0 ? errors.oracle_rms : 1;
  errors.int_mismatch = 0;
  if (errors.candidate_worst * scale <= std::max(kShare * usual_rms, errors.oracle_max)) {
    errors.candidate_rms = errors.candidate_worst = errors.section_excess = 0;
  }
  return errors;
}

// How many times the usual errors are allowed on inputs times 64, and on those that cross a
// threshold. Two nearly equal numbers then leave most of an output's elements, and a few elements
// have most of its error. With the usual factor of 4, an error may be 16 times the reference's;
// scores of 160 in attention take 4.6 times.
constexpr double kFarFactor = 4;
// When one element carries nearly all error, a right candidate's error is more than 64 times the
// reference's in 1 % of cases: 2 / (pi * 64) for half-normal errors. Wrong kernels are mostly
// further off.
constexpr double kInDoubt = 64;

// The seeds of varied trials are options.seed, plus kVariedSeeds, plus kSeedsPerVariation times the
// variation, plus kSeedsPerRepeat times the number of earlier trials of the same variation (but for
// those that cross thresholds). They do not depend on which other variations are tried, so that all
// candidates of a task share what is known about its reference.
//
// Trials on inputs as the task draws them have the seeds from options.seed on. Their number is far
// below 1000.
constexpr uint64_t kVariedSeeds = 1000;
// The earlier calls of a trial's candidate use its seed and the two after it.
constexpr uint64_t kSeedsPerVariation = 5;
// Trials that replace one that said nothing are kSeedsPerReplacement apart. As the other distances
// are multiples of 5, and 101 and 202 are none, no replacement has the seed of a repeat.
constexpr uint64_t kSeedsPerRepeat = 101;
constexpr uint64_t kSeedsPerReplacement = 110;

// Restricts a report to the elements that are finite in fp64 and in the reference. The candidate
// must be finite there too, and elsewhere it may be anything. It is for tasks that have NaN or
// infinite results as they are, and for sets that are made for the domain's edge. Returns false if
// too few elements are left. Any other set that leaves a task's domain says nothing.
bool judge_finite_part(TrialReport& report) {
  for (OutputErrors& e : report.outputs) {
    if (e.reference_finite) continue;
    if (e.finite < kFewElements) return false;
    e.nonfinite_mismatch = e.lost;
  }
  return true;
}

// Returns whether some output has to be judged by many trials together.
bool has_few_elements(const Task& task) {
  return std::any_of(task.forward.outputs.begin(), task.forward.outputs.end(), [&](ValueId id) {
    const Value& value = task.forward.values[id];
    return is_floating(real_type(value.dtype)) && value.numel() < kFewElements;
  });
}

// Returns whether an output has so few indices that one trial shows an error only by luck. Of 128
// rows of 256 scores, products of halves choose another element in one.
bool has_few_indices(const Task& task) {
  constexpr int64_t kFewIndices = 1024;
  const auto outputs = outputs_by_index(task);
  return std::any_of(outputs.begin(), outputs.end(), [&](size_t output) {
    return task.forward.values[task.forward.outputs[output]].numel() < kFewIndices;
  });
}

std::vector<int> floating_inputs_of(const Task& task) {
  std::vector<int> out;
  for (size_t i = 0; i < task.inputs.outputs.size(); ++i) {
    if (is_floating(real_type(task.inputs.values[task.inputs.outputs[i]].dtype))) {
      out.push_back(static_cast<int>(i));
    }
  }
  return out;
}

// Returns what fresh memory holds in a plan's trial. A kernel may recognise one of the kinds.
Unwritten unwritten_of(size_t trial) { return static_cast<Unwritten>(trial % 4); }

}  // namespace

bool varies(const VerifyOptions& options) {
  return options.variations && !options.without.contains("variations") &&
         options.tolerance != Tolerance::kKernelBench;
}

int usual_trials(const Task& reference, const VerifyOptions& options) {
  constexpr int64_t kMany = 4096;  // so many elements give an error's size to 1 %
  const auto& outputs = reference.forward.outputs;
  const bool many =
      !outputs.empty() && std::all_of(outputs.begin(), outputs.end(), [&](ValueId id) {
        return reference.forward.values[id].numel() >= kMany;
      });
  return many && varies(options) ? 2 : 5;
}

std::vector<TrialRequest> plan_trials(const LoadedPair& tasks, const VerifyOptions& options) {
  const Task& reference = tasks.reference;
  std::vector<TrialRequest> out;
  int trials = options.trials > 0 ? options.trials : usual_trials(reference, options);
  if (has_few_elements(reference) || has_few_indices(reference)) {
    trials = std::max(trials, ErrorPool::kTrials);
  }
  for (int i = 0; i < trials; ++i) {
    TrialRequest request;
    request.reference = tasks.reference_id;
    request.candidate = tasks.candidate_id;
    request.seed = options.seed + static_cast<uint64_t>(i);
    request.unwritten = unwritten_of(out.size());
    request.guards = !options.without.contains("guards");
    request.check_noop = request.each_launch =
        i == 0 && options.noop_checks && !options.without.contains("noop");
    out.push_back(request);
  }
  if (!varies(options)) return out;
  std::vector<Variation> variations = {Variation::kScaleDown, Variation::kScaleUp,
                                       Variation::kNegative, Variation::kUneven};
  if (has_exponentials(reference)) {
    variations.push_back(Variation::kFar);
    if (has_exponentials_in_rows(reference)) variations.push_back(Variation::kOutliers);
  }
  if (!is_drawn_around_zero(reference)) variations.push_back(Variation::kMixedSigns);
  if (!varied_state(reference).empty()) {
    variations.push_back(Variation::kParameters);
  } else if (has_constants(reference)) {
    variations.push_back(Variation::kAffine);
  }
  // Outputs of few elements are judged by all of their trials together.
  if (has_few_elements(reference)) variations.insert(variations.end(), 2, Variation::kUneven);
  if (outputs_by_conversion(reference).size() < reference.forward.outputs.size()) {
    variations.push_back(Variation::kZeros);
    variations.push_back(Variation::kBlank);
    if (takes_roots(reference) || reduces_rows(reference)) {
      variations.push_back(Variation::kConstant);
    }
  }
  if (compares(reference)) variations.push_back(Variation::kTies);
  if (updates_state(reference)) variations.push_back(Variation::kUsed);
  if (asks_what_is_finite(reference)) variations.push_back(Variation::kNotFinite);
  if (gives_integers(reference) && !options.without.contains("integers")) {
    variations.push_back(Variation::kIntegers);
  }
  const std::vector<SourceChange> changes = source_changes(reference);
  for (const Variation variation :
       {Variation::kEnds, Variation::kNamed, Variation::kShuffled, Variation::kOther}) {
    const SourceChange change = source_change(variation).value();
    if (std::ranges::find(changes, change) != changes.end()) variations.push_back(variation);
  }
  // The draws decide which of the thresholds these are.
  size_t thresholds = runs_on_cpu(reference) ? named_thresholds(reference).size() : 0;
  thresholds = std::min(thresholds, kMostThresholds);
  if (thresholds > 1) ++thresholds;  // all of them at once
  variations.insert(variations.end(), thresholds, Variation::kCrossed);
  TrialRequest varied = out.front();
  varied.check_noop = varied.each_launch = false;
  for (Variation v : variations) {
    varied.variation = v;
    const auto repeated = static_cast<uint64_t>(std::count_if(
        out.begin(), out.end(), [&](const TrialRequest& other) { return other.variation == v; }));
    varied.seed = options.seed + kVariedSeeds + kSeedsPerVariation * static_cast<uint64_t>(v);
    // These trials scale one draw in several ways.
    if (v != Variation::kCrossed) varied.seed += kSeedsPerRepeat * repeated;
    varied.unwritten = unwritten_of(out.size());
    varied.only = v == Variation::kCrossed ? static_cast<int>(repeated) : -1;
    out.push_back(varied);
  }
  return out;
}

std::vector<TrialRequest> trials_instead(const TrialRequest& said_nothing, const Task& reference) {
  constexpr size_t kMost = 4;
  const Variation variation = said_nothing.variation;
  std::vector<TrialRequest> out;
  TrialRequest request = said_nothing;
  const auto add_another = [&] {
    request.seed = said_nothing.seed + kSeedsPerReplacement * (out.size() + 1);
    out.push_back(request);
  };
  if (variation == Variation::kParameters) {
    if (!said_nothing.fixed.empty()) return {};
    const std::vector<int> varied = varied_state(reference);
    for (size_t i = 0; varied.size() > 1 && i < std::min(varied.size(), kMost); ++i) {
      request.fixed = varied;
      std::erase(request.fixed, varied[i]);
      add_another();
    }
    request.fixed.clear();
    request.variation = Variation::kAffine;
    add_another();
    return out;
  }
  if (said_nothing.only >= 0 || variation == Variation::kAffine ||
      variation == Variation::kIntegers || variation == Variation::kUsed ||
      source_change(variation)) {
    return {};
  }
  const std::vector<int> inputs = floating_inputs_of(reference);
  for (size_t i = 0; inputs.size() > 1 && i < std::min(inputs.size(), kMost); ++i) {
    request.only = inputs[i];
    add_another();
  }
  return out;
}

std::string TrialJudge::add(const TrialRequest& request, TrialReport report) {
  const bool plain = request.variation == Variation::kPlain;
  said_nothing_ = false;
  Json trial = {{"variation", variation_name(request.variation)}, {"outputs", Json::array()}};
  if (request.only >= 0) trial["only"] = request.only;
  if (!request.fixed.empty()) trial["fixed"] = request.fixed;
  if (const std::string why = plain ? "" : reason_to_skip(request, report); !why.empty()) {
    said_nothing_ = true;
    trial["skipped"] = why;
    trial["phases"] = report.phases;
    evidence_.push_back(trial);
    return "";
  }
  if (!report.ok()) {
    if (report.fault == Side::kReference)
      throw InputError("the reference failed: " + report.message);
    if (plain) allclose_ = false;
    return report.message;
  }
  if (plain) {
    finite_task_ = finite_task_ && reference_is_finite(report);
    usual_rms_.resize(report.outputs.size());
    for (size_t i = 0; i < report.outputs.size(); ++i) {
      usual_rms_[i] = std::max(usual_rms_[i], report.outputs[i].oracle_rms);
    }
  }
  trial["seconds"] = report.seconds;
  trial["phases"] = report.phases;
  trial["peak_bytes"] = report.peak_bytes;  // of the device's allocator, or of the executor
  for (const OutputErrors& e : report.outputs) trial["outputs"].push_back(errors_to_json(e));
  evidence_.push_back(trial);
  if (request.each_launch) idle_launches_ = report.idle_launches;
  add_copies(report.copies);
  if (plain) {
    degenerate_ = degenerate_ || report.passes_zeros || report.passes_stale;
    allclose_ = allclose_.value_or(true) &&
                std::all_of(report.outputs.begin(), report.outputs.end(), [](const auto& errors) {
                  return output_fault(errors, Tolerance::kKernelBench).empty();
                });
    pool_.add(report.outputs);
  }
  if (request.variation == Variation::kUneven) uneven_.add(report.outputs);
  return fault(request, report);
}

// A launch copies only if all trials say so, with the same factors. A factor that depends on the
// numbers, such as that of a softmax of one row, is work.
void TrialJudge::add_copies(const LaunchCopies& found) {
  others_than_copies_.insert(found.others.begin(), found.others.end());
  std::map<int, std::vector<LaunchCopy>> copies;
  for (const LaunchCopy& copy : found.copies) copies[copy.step].push_back(copy);
  const auto near = [](double one, double other) {
    constexpr double kApart = 0.05;
    return std::abs(one - other) <= kApart * std::max(std::abs(one), std::abs(other));
  };
  // Beside large numbers an addend does not show.
  const auto same = [&](const LaunchCopy& one, const LaunchCopy& other) {
    return one.source == other.source && near(one.factor, other.factor) &&
           (one.addend == 0 || other.addend == 0 || near(one.addend, other.addend));
  };
  for (auto& [step, all] : copies) {
    const auto [known, first] = copies_.try_emplace(step, all);
    if (!first && !std::ranges::equal(known->second, all, same)) others_than_copies_.insert(step);
  }
}

LaunchFindings TrialJudge::launches() const {
  LaunchFindings out{idle_launches_, {}};
  for (const auto& [step, copies] : copies_) {
    if (!others_than_copies_.contains(step)) {
      out.copies.insert(out.copies.end(), copies.begin(), copies.end());
    }
  }
  return out;
}

std::string TrialJudge::reason_to_skip(const TrialRequest& request, TrialReport& report) const {
  if (!report.ok()) {
    const bool refused = report.status == ReplyStatus::kFailed && report.fault == Side::kReference;
    return refused ? "the reference refuses these inputs" : "";
  }
  const bool integers = std::any_of(report.outputs.begin(), report.outputs.end(),
                                    [](const OutputErrors& e) { return e.integers > 0; });
  if (request.variation == Variation::kIntegers && !integers) {
    return "the reference gives no integers on these inputs";
  }
  const bool by_part = !finite_task_ || is_edge(request.variation);
  if (reference_is_finite(report) || (by_part && judge_finite_part(report))) return "";
  return "the reference itself is not finite on these inputs";
}

// Returns whether an output may be anything in such a trial. Which of many equal numbers is the
// largest decides what follows from it, and 0/0 is no integer. On inputs times 64 exponentials
// become zeros too, and near ties are known only of outputs that are indices themselves.
bool TrialJudge::is_free(size_t output, Variation variation) const {
  if (variation == Variation::kTies)
    return by_index_.contains(output) && !index_outputs_.contains(output);
  if (!is_edge(variation)) return false;
  const bool far = is_far(variation);
  if (by_index_.contains(output)) return !far || !index_outputs_.contains(output);
  return !far && variation != Variation::kNotFinite && by_conversion_.contains(output);
}

std::string TrialJudge::together() {
  if (options_.tolerance != Tolerance::kCalibrated || !checked("outputs")) return "";
  for (const ErrorPool* pool : {&pool_, &uneven_}) {
    const std::string fault = pool->fault();
    if (fault.empty()) continue;
    in_doubt_ = pool->times_allowed() <= kInDoubt;
    return fault;
  }
  return "";
}

std::string TrialJudge::fault(const TrialRequest& request, const TrialReport& report) {
  auto with_detail = [&](const std::string& text) {
    return report.difference.empty() ? text : text + ": " + report.difference;
  };
  if (!report.guards_intact && checked("guards"))
    return with_detail("a kernel writes outside of the tensors that it is given");
  if (!report.inputs_unchanged && checked("inputs"))
    return with_detail("forward leaves its inputs otherwise than the reference does");
  for (size_t i = 0; i < report.outputs.size() && checked("outputs"); ++i) {
    if (is_free(i, request.variation)) continue;
    OutputErrors errors = report.outputs[i];
    if (request.variation == Variation::kConstant && takes_roots_) {
      errors = gross_only(errors, i < usual_rms_.size() ? usual_rms_[i] : 0);
    }
    if (is_far(request.variation) || request.variation == Variation::kCrossed) {
      // A few elements have most of the error, so cross-sections do not count.
      errors.section_excess = 0;
      errors.reference_rms *= kFarFactor;
      errors.reference_worst *= kFarFactor;
    }
    const std::string fault = request.variation == Variation::kIntegers
                                  ? integer_fault(errors)
                                  : output_fault(errors, options_.tolerance);
    if (fault.empty()) continue;
    const double times = times_allowed(errors);
    // From zeros, or rows of one number, programs make equal numbers, and divide what roundings
    // left of them.
    const bool zeros = request.variation == Variation::kZeros ||
                       request.variation == Variation::kBlank ||
                       request.variation == Variation::kConstant;
    // A few indices that differ may be near ties.
    const bool near_ties =
        index_outputs_.contains(i) && errors.int_mismatch > 0 &&
        static_cast<double>(errors.int_mismatch) * kInDoubt <= static_cast<double>(errors.elements);
    in_doubt_ = options_.tolerance == Tolerance::kCalibrated &&
                request.variation != Variation::kIntegers &&
                (times <= kInDoubt || near_ties ||
                 (std::isfinite(times) && (zeros || is_of_one_element(errors))));
    return "output " + std::to_string(i) + " (" + std::string(variation_name(request.variation)) +
           " inputs): " + fault;
  }
  if (!report.buffers_equal && checked("buffers"))
    return with_detail("forward leaves its buffers otherwise than the reference does");
  if (request.check_noop && !report.no_launch_changes) {
    return "the result is the same without any kernel launch, so the kernels do not compute it";
  }
  return {};
}

}  // namespace kw
