#include "eval/run/eval_summary.h"

#include "eval/run/figures.h"

namespace kw {
namespace {

AnswerOutcome answer_of(const JsonReader& sample) {
  const Verdict::Outcome outcome = outcome_from_json(sample.at("outcome"));
  const bool accepted = outcome == Verdict::Outcome::kAccepted;
  const bool in_full = accepted && sample.at("in_full").boolean();
  std::optional<Stage> rejected_at;
  if (const JsonReader at = sample.at("rejected_at"); !at.is_null()) {
    rejected_at = stage_from_json(at);
  }
  const auto passed = [&](Stage stage) {
    return accepted || (rejected_at && *rejected_at > stage);
  };
  AnswerOutcome out;
  out.judged = outcome == Verdict::Outcome::kRejected || in_full;
  out.valid = passed(Stage::kRecord);
  out.compiled = passed(Stage::kCompile);
  out.correct = in_full;
  out.over_eager = interval_from_json(sample.at("speedup_eager"));
  out.over_compile = interval_from_json(sample.at("speedup_compile"));
  out.degenerate = sample.has("degenerate") && sample.at("degenerate").boolean();
  out.allclose = sample.has("allclose") && sample.at("allclose").raw() == true;
  if (sample.has("share") && !sample.at("share").is_null()) {
    out.share = sample.at("share").number();
  }
  if (rejected_at) out.reason = stage_name(*rejected_at);
  return out;
}

std::string percents(const Estimate& estimate) {
  std::string out = percent_text(estimate.value);
  if (estimate.interval) {
    out += " (" + percent_text(estimate.interval->lower) + " to " +
           percent_text(estimate.interval->upper) + ")";
  }
  return out;
}

std::string ratios(const Estimate& estimate) {
  return ratio_text(estimate.value) +
         (estimate.interval ? " (" + interval_text(*estimate.interval) + ")" : "");
}

std::string line(std::string name, const std::string& text) {
  name.resize(std::max<size_t>(name.size(), 14), ' ');
  return "  " + name + "  " + text + "\n";
}

std::string left_out(const Estimate& estimate) {
  if (estimate.left_out == 0) return "";
  return ", of " + count_text(estimate.tasks, "task");
}

std::string pass_at_text(const Metrics& metrics) {
  if (metrics.judged != MetricsOptions::Judged::kAll) {
    return line("pass@k", "not defined: some samples were left out");
  }
  std::string out;
  for (const auto& [k, estimate] : metrics.pass_at) {
    out += line("pass@" + std::to_string(k),
                estimate ? percents(*estimate) + left_out(*estimate)
                         : "not known: no task has that many samples that were judged");
  }
  return out;
}

std::string speed_text(const std::optional<SpeedMetrics>& speed, const std::string& over) {
  if (!speed) return "";
  std::string out;
  for (const auto& [p, estimate] : speed->fast_best) {
    if (p > 1) continue;  // the others are in the JSON
    out += line("fast_1", percents(estimate) + left_out(estimate) + " over " + over);
  }
  if (!speed->geometric_mean_right) return out;
  std::string means = ratios(*speed->geometric_mean_right) + " over " + over + " where verified";
  if (speed->geometric_mean_all) means += ", " + ratios(*speed->geometric_mean_all) + " over all";
  return out + line("geometric mean", means);
}

}  // namespace

MetricsOptions metrics_options(const SuiteOptions& options, size_t policy) {
  MetricsOptions out;
  out.judged = options.side_by_side     ? MetricsOptions::Judged::kFastest
               : options.until_accepted ? MetricsOptions::Judged::kUntilCorrect
                                        : MetricsOptions::Judged::kAll;
  out.pass_at = {1};
  if (const int samples = options.samples_of(policy); samples > 1) out.pass_at.push_back(samples);
  return out;
}

TaskAnswers answers_of(const JsonReader& line) {
  TaskAnswers out{line.at("model").string(), {}, {}};
  const ModelOutcome outcome = model_outcome_from_json(line.at("outcome"));
  if (outcome == ModelOutcome::kUnusable) {
    if (line.has("fault") && !line.at("fault").is_null()) out.unusable = line.at("fault").string();
    if (out.unusable.empty()) out.unusable = "other";
    return out;
  }
  if (outcome == ModelOutcome::kNotJudged &&
      !line.at("reason").string().empty()) {  // it was not recorded
    out.answers = {{.judged = false}};
    return out;
  }
  for (const JsonReader& sample : line.at("samples").items()) {
    out.answers.push_back(answer_of(sample));
  }
  return out;
}

Metrics measure_suite(const std::vector<TaskAnswers>& tasks, const SuiteOptions& options,
                      size_t policy) {
  Metrics out = measure(tasks, metrics_options(options, policy));
  // A wrong answer is not fast, whether timed or not. Without timing there is no line on speed.
  if (!options.verify.time) out.eager.reset();
  if (!options.verify.time || !options.compile_baselines) out.compile.reset();
  return out;
}

std::string summary_text(const Metrics& metrics) {
  std::string unusable = unusable_text(metrics);
  if (!unusable.empty()) unusable = line("unusable", unusable + ", models that are no tasks");
  if (!metrics.solved) return unusable.empty() ? "" : "no task\n" + unusable;
  const double percent = 100 * MetricsOptions().bootstrap.confidence;
  std::string out = count_text(metrics.tasks, "task") + " (" + number_text(percent) +
                    " % intervals; " + count_text(metrics.answers, "judged sample") + ")\n";
  out += unusable;
  out += line("verified", percents(*metrics.solved) + left_out(*metrics.solved));
  if (metrics.degenerate > 0 && metrics.solved_others) {
    out += line("without", count_text(metrics.degenerate, "degenerate task") + "  " +
                               percents(*metrics.solved_others));
  }
  std::string reasons;
  for (const auto& [stage, count] : metrics.reasons) {
    reasons += (reasons.empty() ? "" : ", ") + stage + " " + std::to_string(count);
  }
  if (!reasons.empty()) out += line("rejected at", reasons);
  if (metrics.share) out += line("Triton share", percents(*metrics.share) + " where verified");
  out += pass_at_text(metrics);
  out += speed_text(metrics.eager, "eager");
  return out + speed_text(metrics.compile, "torch.compile");
}

std::string unusable_text(const Metrics& metrics) {
  size_t all = 0;
  std::string why;
  for (const auto& [code, count] : metrics.unusable) {
    all += count;
    why += (why.empty() ? "" : ", ") + code + " " + std::to_string(count);
  }
  return all == 0 ? "" : std::to_string(all) + " (" + why + ")";
}

std::string level_text(const std::string& level, const Metrics& metrics) {
  if (!metrics.solved) return "";
  std::string text = count_text(metrics.tasks, "task") + ", verified " + percents(*metrics.solved);
  if (metrics.eager && metrics.eager->geometric_mean_right) {
    text += ", " + ratios(*metrics.eager->geometric_mean_right) + " over eager where verified";
  }
  if (const std::string unusable = unusable_text(metrics); !unusable.empty()) {
    text += "; unusable " + unusable;
  }
  return line(level.empty() ? "no level" : level, text);
}

}  // namespace kw
