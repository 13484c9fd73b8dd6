#include "train/rl/rl_report.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "train/rl/rl_batch.h"

namespace kw::train {
namespace {

constexpr size_t kMostReasons = 20;

std::string percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

std::string shortly(const char* format, double value) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

double share_of(const std::pair<int64_t, int64_t>& right_of_judged) {
  return static_cast<double>(right_of_judged.first) /
         static_cast<double>(std::max<int64_t>(1, right_of_judged.second));
}

// Returns the most frequent reasons.
Json reasons_of(const BatchSummary& batch) {
  std::vector<std::pair<std::string, int64_t>> all(batch.reasons.begin(), batch.reasons.end());
  std::ranges::stable_sort(all, std::greater<>(), &std::pair<std::string, int64_t>::second);
  Json out = Json::object();
  for (size_t i = 0; i < std::min(all.size(), kMostReasons); ++i) out[all[i].first] = all[i].second;
  return out;
}

}  // namespace

void add_pass_by_level(const BatchSummary& batch, Json& to) {
  for (const auto& [level, found] : batch.by_level) {
    to["pass_level_" + std::to_string(level)] = share_of(found);
  }
}

Json step_numbers(const StepReport& report, const BatchSummary& batch, const RlTaskCounts& tasks) {
  const LearnReport& learned = report.learned;
  Json out = {{"reward", batch.reward},
              {"valid", batch.valid},
              {"correct", batch.correct},
              {"speedup", batch.speedup},
              {"mixed", batch.mixed},
              {"answers", batch.answers},
              {"distinct", batch.distinct},
              {"right_programs", batch.right_programs.size()},
              {"not_judged", batch.not_judged},
              {"cut_off", batch.cut_off},
              {"tokens", batch.tokens},
              {"level", report.level},
              {"loss", learned.loss},
              {"kl", learned.kl},
              {"clipped", learned.clipped},
              {"drift", learned.drift},
              {"norm", learned.norm},
              {"rate", learned.rate},
              {"updates", learned.updates},
              {"learned_tokens", learned.tokens},
              {"programs", tasks.programs},
              {"unrecorded", tasks.unrecorded},
              {"unfair", tasks.unfair},
              {"long_prompts", tasks.too_long},
              {"seconds", report.seconds},
              {"judge_wall_seconds", report.judge.wall},
              {"judge_half_seconds", report.judge.half},
              {"judge_most_seconds", report.judge.most},
              {"build_seconds", report.judge.build},
              {"longest_build_seconds", report.judge.longest_build},
              {"executor_seconds", report.judge.executor},
              {"executor_restarts", report.judge.restarts}};
  if (report.judge.sanitized > 0) {
    out["sanitizer_seconds"] = report.judge.sanitizing;
    out["sanitized"] = report.judge.sanitized;
    out["sanitizer_found"] = report.judge.sanitizer_found;
  }
  if (report.judge.asked > 0) {
    out["opinion_seconds"] = report.judge.asking;
    out["opinions_asked"] = report.judge.asked;
    out["no_opinions"] = report.judge.no_opinions;
  }
  add_pass_by_level(batch, out);
  for (const auto& [stage, count] : batch.stages) out["rejected_" + stage] = count;
  for (const auto& [phase, seconds] : report.phases) {
    out[phase + "_seconds"] = seconds;
    out[phase + "_share"] = report.seconds > 0 ? seconds / report.seconds : 0;
  }
  out["reasons"] = reasons_of(batch);
  return out;
}

std::string step_line(const StepReport& report, const BatchSummary& batch) {
  std::string out = "step " + std::to_string(report.step) + " of " + std::to_string(report.steps) +
                    ": reward " + shortly("%.3f", batch.reward) + ", valid " +
                    percent(batch.valid) + ", right " + percent(batch.correct);
  if (batch.by_level.size() > 1) {
    for (const auto& [level, found] : batch.by_level) {
      out += (level == batch.by_level.begin()->first ? " (level " : ", level ") +
             std::to_string(level) + " " + percent(share_of(found));
    }
    out += ")";
  }
  if (batch.not_judged > 0) out += ", not judged " + std::to_string(batch.not_judged);
  out +=
      ", kl " + shortly("%.2g", report.learned.kl) + "; " + shortly("%.1f", report.seconds) + " s";
  for (const auto& [phase, seconds] : report.phases) {
    if (seconds >= 0.005 * report.seconds) {
      out += ", " + phase + " " + percent(seconds / std::max(report.seconds, 1e-9));
    }
  }
  return out;
}

std::string held_out_line(int level, const HeldOut& found) {
  const auto judged = static_cast<double>(std::max<int64_t>(1, found.judged));
  return "held out, level " + std::to_string(level) + ": " + std::to_string(found.correct) +
         " of " + std::to_string(found.judged) + " right (" +
         percent(static_cast<double>(found.correct) / judged) + ", from " +
         percent(lower_bound_of(found)) + ")";
}

std::string sparkline(const std::vector<double>& values, size_t most) {
  constexpr const char* kBlocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const size_t from = values.size() - std::min(values.size(), most);
  if (from == values.size()) return "";
  const auto [low, high] =
      std::minmax_element(values.begin() + static_cast<long>(from), values.end());
  std::string out;
  for (size_t i = from; i < values.size(); ++i) {
    const double place = *high > *low ? (values[i] - *low) / (*high - *low) : 0;
    out += kBlocks[std::min<size_t>(7, static_cast<size_t>(place * 8))];
  }
  return out;
}

}  // namespace kw::train
