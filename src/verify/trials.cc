#include "verify/trials.h"

#include <algorithm>
#include <cmath>

#include "formats/base/error.h"

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

OutputErrors only_finite(OutputErrors errors) {
  errors.candidate_rms = errors.candidate_worst = errors.section_excess = 0;
  errors.int_mismatch = 0;
  return errors;
}

constexpr double kFarFactor = 4;  // on what is allowed elsewhere
// Of two errors of which one element has nearly all, one is so many times the other in 1 of 100
// (half-normal ones: 2 / pi / times), and wrong kernels are mostly further off.
constexpr double kInDoubt = 64;

// A varied set may leave a task's domain, and says nothing then. But where a task has NaN or
// infinite results as it is, or the set is made for the domain's edge, it is judged by what is
// finite in fp64 and in the reference: the candidate must be finite there too, and elsewhere it may
// be anything. False when that is too little.
bool judge_finite_part(TrialReport& report) {
  for (OutputErrors& e : report.outputs) {
    if (e.reference_finite) continue;
    if (e.finite < kFewElements) return false;
    e.nonfinite_mismatch = e.lost;
  }
  return true;
}

// Whether some output has to be judged by many trials together.
bool has_few_elements(const Task& task) {
  return std::any_of(task.forward.outputs.begin(), task.forward.outputs.end(), [&](ValueId id) {
    const Value& value = task.forward.values[id];
    return is_floating(value.dtype) && value.numel() < kFewElements;
  });
}

// Whether there are so few indices that, in one trial, two elements that are near enough to show an
// error are a matter of luck: of 128 rows of 256 scores, products of halves choose another element
// in one.
bool has_few_choices(const Task& task) {
  constexpr int64_t kFewChoices = 1024;
  const auto choices = outputs_by_choice(task);
  return std::any_of(choices.begin(), choices.end(), [&](size_t output) {
    return task.forward.values[task.forward.outputs[output]].numel() < kFewChoices;
  });
}

std::vector<int> parameters_of(const Task& task) {
  std::vector<int> out;
  for (size_t i = 0; i < task.state.size(); ++i) {
    if (task.state[i].kind == "parameter") out.push_back(static_cast<int>(i));
  }
  return out;
}

std::vector<int> floating_inputs_of(const Task& task) {
  std::vector<int> out;
  for (size_t i = 0; i < task.inputs.outputs.size(); ++i) {
    if (is_floating(task.inputs.values[task.inputs.outputs[i]].dtype)) {
      out.push_back(static_cast<int>(i));
    }
  }
  return out;
}

// Published numbers come from inputs as a task draws them.
bool varies(const VerifyOptions& options) {
  return options.variations && !options.without.contains("variations") &&
         options.tolerance != Tolerance::kKernelBench;
}

}  // namespace

int usual_trials(const Task& reference, const VerifyOptions& options) {
  constexpr int64_t kMany = 4096;  // elements, which say an error's size by 1 %
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
  if (has_few_elements(reference) || has_few_choices(reference)) {
    trials = std::max(trials, ErrorPool::kTrials);
  }
  for (int i = 0; i < trials; ++i) {
    TrialRequest request;
    request.reference = tasks.reference_id;
    request.candidate = tasks.candidate_id;
    request.seed = options.seed + static_cast<uint64_t>(i);
    request.second_call = !options.without.contains("second-call");
    request.used_memory = i % 2 == 1;  // a kernel may know poison when it sees it
    request.guards = !options.without.contains("guards");
    request.check_noop = request.each_launch =
        i == 0 && options.noop_checks && !options.without.contains("noop");
    out.push_back(request);
  }
  if (!varies(options)) return out;
  std::vector<Variation> variations = {Variation::kScaleDown, Variation::kScaleUp,
                                       Variation::kNegative, Variation::kUneven};
  if (has_exponentials(reference)) variations.push_back(Variation::kFar);
  if (!is_drawn_around_zero(reference)) variations.push_back(Variation::kMixedSigns);
  // What a candidate packs when it is constructed stays as it is. What is constant need not be
  // packed: others may take its place.
  const std::vector<int> packed = packed_parameters(tasks.candidate, reference);
  const bool all_packed = packed.size() == parameters_of(reference).size();
  if (!all_packed) variations.push_back(Variation::kParameters);
  if (all_packed ? !reference.state.empty() || has_constants(reference) : !packed.empty()) {
    variations.push_back(Variation::kAffine);
  }
  // Few elements are judged by all of their trials together.
  if (has_few_elements(reference)) variations.insert(variations.end(), 2, Variation::kUneven);
  if (outputs_by_conversion(reference).size() < reference.forward.outputs.size()) {
    variations.push_back(Variation::kZeros);
    variations.push_back(Variation::kBlank);
    if (takes_roots(reference)) variations.push_back(Variation::kConstant);
  }
  if (updates_state(reference)) variations.push_back(Variation::kUsed);
  if (asks_what_is_finite(reference)) variations.push_back(Variation::kNotFinite);
  if (gives_integers(reference) && !options.without.contains("integers")) {
    variations.push_back(Variation::kIntegers);
  }
  TrialRequest varied = out.front();
  varied.check_noop = varied.each_launch = false;
  for (Variation v : variations) {
    varied.variation = v;
    const auto repeated = std::count_if(
        out.begin(), out.end(), [&](const TrialRequest& other) { return other.variation == v; });
    // Whatever else is tried: candidates share what is found out of the reference.
    varied.seed = options.seed + 1000 + 5 * static_cast<uint64_t>(v) + 101 * repeated;
    varied.used_memory = out.size() % 2 == 1;
    const bool parameters = v == Variation::kParameters || v == Variation::kIntegers;
    varied.fixed = parameters ? packed : std::vector<int>();
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
    request.seed = said_nothing.seed + 100 * (out.size() + 1);
    out.push_back(request);
  };
  if (variation == Variation::kParameters) {
    std::vector<int> varied;
    for (int place : parameters_of(reference)) {
      const auto& fixed = said_nothing.fixed;
      if (std::find(fixed.begin(), fixed.end(), place) == fixed.end()) varied.push_back(place);
    }
    for (size_t i = 0; varied.size() > 1 && i < std::min(varied.size(), kMost); ++i) {
      request.fixed = parameters_of(reference);
      std::erase(request.fixed, varied[i]);
      add_another();
    }
    request.fixed.clear();
    request.variation = Variation::kAffine;
    if (said_nothing.fixed.empty()) add_another();  // else there is one
    return out;
  }
  if (said_nothing.only >= 0 || variation == Variation::kAffine ||
      variation == Variation::kIntegers || variation == Variation::kUsed) {
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
  if (plain) finite_task_ = finite_task_ && reference_is_finite(report);
  trial["seconds"] = report.seconds;
  trial["phases"] = report.phases;
  trial["peak_bytes"] = report.peak_bytes;  // of the device's allocator, or of the executor
  for (const OutputErrors& e : report.outputs) trial["outputs"].push_back(errors_to_json(e));
  evidence_.push_back(trial);
  if (request.each_launch) idle_launches_ = report.idle_launches;
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

// Which of many zeros is the largest nobody says, nor what 0/0 is as an integer. Far out
// exponentials become zeros too, and near ties are known of plain indices alone.
bool TrialJudge::is_free(size_t output, Variation variation) const {
  if (!is_edge(variation)) return false;
  const bool far = variation == Variation::kFar;
  if (by_choice_.contains(output)) return !far || !plain_choices_.contains(output);
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
    return with_detail("writes outside of its buffers");
  if (!report.inputs_unchanged && checked("inputs"))
    return with_detail("leaves other inputs than the reference");
  if (!report.state_equal && checked("buffers"))
    return with_detail("has other parameters than the reference");
  for (size_t i = 0; i < report.outputs.size() && checked("outputs"); ++i) {
    if (is_free(i, request.variation)) continue;
    OutputErrors errors = report.outputs[i];
    // A variance of nothing but rounding: all that counts is that it is no NaN.
    if (request.variation == Variation::kConstant) errors = only_finite(errors);
    if (request.variation == Variation::kFar) {
      // Most of an output is what two nearly equal numbers leave of each other, and a few of its
      // elements have most of its error: 16 times the reference's (scores of 160 in attention:
      // 4.6), and no cross-sections.
      errors.section_excess = 0;
      errors.reference_rms *= kFarFactor;
      errors.reference_worst *= kFarFactor;
    }
    const std::string fault = request.variation == Variation::kIntegers
                                  ? integer_fault(errors)
                                  : output_fault(errors, options_.tolerance);
    if (fault.empty()) continue;
    const double times = times_allowed(errors);
    // Of zeros programs make equal numbers, and divide what roundings left of them by one another.
    const bool zeros =
        request.variation == Variation::kZeros || request.variation == Variation::kBlank;
    // Of few near ties another may have been chosen.
    const bool near_ties =
        plain_choices_.contains(i) && errors.int_mismatch > 0 &&
        static_cast<double>(errors.int_mismatch) * kInDoubt <= static_cast<double>(errors.elements);
    in_doubt_ = options_.tolerance == Tolerance::kCalibrated &&
                request.variation != Variation::kIntegers &&
                (times <= kInDoubt || near_ties ||
                 (std::isfinite(times) && (zeros || is_of_one_element(errors))));
    return "output " + std::to_string(i) + " (" + std::string(variation_name(request.variation)) +
           " inputs): " + fault;
  }
  if (!report.buffers_equal && checked("buffers"))
    return with_detail("leaves other buffers than the reference");
  if (request.check_noop && !report.no_launch_changes) {
    return "leaving out every kernel launch changes nothing";
  }
  return {};
}

}  // namespace kw
