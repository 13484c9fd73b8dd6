#include "eval/run/run_comparison.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include "eval/run/figures.h"
#include "formats/base/error.h"

namespace kw {
namespace {

// The hash of each model's program; "": it was not recorded.
std::map<std::string, std::string> programs_of(const EvalRun& run, const std::string& label) {
  std::map<std::string, std::string> out;
  for (const Json& line : run.lines) {
    if (line.value("label", "") == label) out[line.at("model")] = string_at(line, "task");
  }
  return out;
}

void keep(std::vector<TaskAnswers>& tasks, const std::set<std::string>& names) {
  std::erase_if(tasks, [&](const TaskAnswers& task) { return !names.contains(task.task); });
}

size_t most_samples(const EvalRun& run, const std::string& label) {
  size_t most = 1;
  for (const Json& line : run.lines) {
    if (line.value("label", "") == label) most = std::max(most, line.at("samples").size());
  }
  return most;
}

// Returns nothing if no model is in both.
std::optional<RunComparison> compare_labels(const EvalRun& ours, const std::string& mine,
                                            const EvalRun& theirs, const std::string& its) {
  RunComparison out{policy_name(ours, mine),
                    policy_name(theirs, its),
                    most_samples(ours, mine),
                    most_samples(theirs, its),
                    0,
                    0,
                    {}};
  std::vector<TaskAnswers> a = answers_of(ours, mine), b = answers_of(theirs, its);
  std::set<std::string> in_a, in_b, both;
  const auto add = [](const std::vector<TaskAnswers>& from, std::set<std::string>& to) {
    for (const TaskAnswers& task : from) {
      if (task.unusable.empty()) to.insert(task.task);
    }
  };
  add(a, in_a);
  add(b, in_b);
  const auto programs_a = programs_of(ours, mine), programs_b = programs_of(theirs, its);
  for (const std::string& task : in_a) {
    if (in_b.contains(task) && programs_a.at(task) == programs_b.at(task)) both.insert(task);
  }
  if (both.empty()) return {};
  keep(a, both);
  keep(b, both);
  out.tasks = both.size();
  std::set<std::string> all = in_a;
  all.insert(in_b.begin(), in_b.end());
  out.left_out = all.size() - both.size();
  MetricsOptions options = metrics_options(ours);
  const int most = static_cast<int>(std::min(out.our_samples, out.their_samples));
  options.pass_at = most > 1 ? std::vector<int>{1, most} : std::vector<int>{1};
  out.comparison = compare(a, b, options);
  const bool one_device =
      ours.asked.value("device", Json()) == theirs.asked.value("device", Json());
  if (!is_timed(ours) || !is_timed(theirs) || !one_device) {
    out.comparison.fast_best.clear();
    out.comparison.speedup.reset();
  }
  return out;
}

// Returns the pairs of policies with equal labels, or the only ones of both runs.
std::vector<PolicyPair> pairs_by_name(const EvalRun& ours, const EvalRun& theirs) {
  if (ours.labels.size() == 1 && theirs.labels.size() == 1) {
    return {{ours.labels[0], theirs.labels[0]}};
  }
  std::vector<PolicyPair> out;
  for (const std::string& mine : ours.labels) {
    for (const std::string& its : theirs.labels) {
      if (policy_name(ours, mine) == policy_name(theirs, its)) out.emplace_back(mine, its);
    }
  }
  if (out.empty()) {
    throw InputError(ours.name + " and " + theirs.name + " have no policy in common (" +
                     policies_text(ours) + "; " + policies_text(theirs) +
                     "); name those to compare: --pair OURS=THEIRS");
  }
  return out;
}

std::string label_of(const EvalRun& run, const std::string& name) {
  for (const std::string& label : run.labels) {
    if (policy_name(run, label) == name) return label;
  }
  throw InputError("there is no policy " + name + ": " + policies_text(run));
}

std::vector<PolicyPair> pairs_of(const std::vector<PolicyPair>& names, const EvalRun& ours,
                                 const EvalRun& theirs) {
  std::vector<PolicyPair> out;
  for (const auto& [mine, its] : names) {
    out.emplace_back(label_of(ours, mine), label_of(theirs, its));
  }
  return out;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> rows_of(const PolicyComparison& comparison) {
  std::vector<std::pair<std::string, std::string>> rows;
  const auto add = [&](const std::string& name, const Estimate& x, std::string text) {
    if (x.left_out > 0) text += ", of " + count_text(x.tasks, "task");
    rows.emplace_back(name, std::move(text));
  };
  const auto points = [](double share) {
    char text[32];
    std::snprintf(text, sizeof text, "%+.1f", 100 * share);
    return std::string(text);
  };
  const auto difference = [&](const std::string& name, const std::optional<Estimate>& x) {
    if (!x) return;
    std::string text = points(x->value) + " points";
    if (x->interval) {
      text += " [" + points(x->interval->lower) + ", " + points(x->interval->upper) + "]";
    }
    add(name, *x, std::move(text));
  };
  difference("verified", comparison.solved);
  for (const auto& [k, estimate] : comparison.pass_at) {
    difference("pass@" + std::to_string(k), estimate);
  }
  for (const auto& [p, estimate] : comparison.fast_best) {
    difference("fast_" + number_text(p), estimate);
  }
  if (const auto& speed = comparison.speedup) {
    std::string text = ratio_text(speed->value);
    if (speed->interval) text += " [" + interval_text(*speed->interval) + "]";
    add("speed, wrong ones 1", *speed, std::move(text));
  }
  return rows;
}

std::string title_of(const RunComparison& each) {
  std::string title = each.ours;
  if (each.theirs != each.ours) title += " against " + each.theirs;
  title += ": " + count_text(each.tasks, "task");
  if (each.our_samples != each.their_samples) {
    title += ", of " + count_text(each.our_samples, "sample") + " against " +
             std::to_string(each.their_samples);
  }
  if (each.left_out == 0) return title;
  return title + ", " + std::to_string(each.left_out) +
         " left out that one has alone, or that is another program there";
}

std::string policies_text(const EvalRun& run) {
  std::string out;
  for (const std::string& label : run.labels) {
    out += (out.empty() ? "" : ", ") + policy_name(run, label);
  }
  return run.name + " has " + out;
}

std::vector<RunComparison> compare_runs(const EvalRun& ours, const EvalRun& theirs,
                                        const std::vector<PolicyPair>& asked) {
  const auto pairs = asked.empty() ? pairs_by_name(ours, theirs) : pairs_of(asked, ours, theirs);
  if (metrics_options(ours).judged != metrics_options(theirs).judged) {
    throw InputError(ours.name + " and " + theirs.name +
                     " judged different samples "
                     "(--until-accepted, --side-by-side)");
  }
  std::vector<RunComparison> out;
  for (const auto& [mine, its] : pairs) {
    if (auto found = compare_labels(ours, mine, theirs, its)) out.push_back(std::move(*found));
  }
  if (out.empty()) {
    throw InputError(ours.name + " and " + theirs.name + " have no model in common: one has " +
                     std::string(ours.lines.front().at("model")) + ", the other " +
                     std::string(theirs.lines.front().at("model")));
  }
  return out;
}

std::vector<RunComparison> compare_policies(const EvalRun& run) {
  std::vector<RunComparison> out;
  for (size_t i = 1; i < run.labels.size(); ++i) {
    if (auto found = compare_labels(run, run.labels[i], run, run.labels[0])) {
      out.push_back(std::move(*found));
    }
  }
  return out;
}

std::string comparison_text(const std::vector<RunComparison>& comparisons) {
  std::string out;
  for (const RunComparison& each : comparisons) {
    out += title_of(each) + "\n";
    for (auto [name, text] : rows_of(each.comparison)) {
      name.resize(std::max<size_t>(name.size(), 20), ' ');
      out += "  " + name + "  " + text + "\n";
    }
  }
  return out;
}

Json to_json(const RunComparison& each) {
  return {{"label", each.ours},
          {"their_label", each.theirs},
          {"tasks", each.tasks},
          {"left_out", each.left_out},
          {"samples", each.our_samples},
          {"their_samples", each.their_samples},
          {"comparison", to_json(each.comparison)}};
}

}  // namespace kw
