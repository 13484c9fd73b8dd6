#include "eval/run/eval_report.h"

#include "eval/run/eval_summary.h"

namespace kw {

EvalReport report_on(EvalRun run, const std::optional<EvalRun>& against,
                     const std::vector<PolicyPair>& pairs) {
  EvalReport out{.run = std::move(run)};
  out.metrics = measure_run(out.run);
  out.beside = compare_policies(out.run);
  out.opinions = read_opinions(out.run);
  for (const std::string& label : out.run.labels) {
    out.policies.push_back({label, layers_of(out.run, label, out.opinions), {}});
    if (out.opinions.empty()) continue;
    out.policies.back().agreement = agreement_of(out.run, label, out.opinions);
  }
  if (against) {
    out.against = against->name;
    out.asked_otherwise = asked_difference(against->asked, out.run.asked);
    out.comparisons = compare_runs(out.run, *against, pairs);
  }
  return out;
}

std::string report_text(const EvalReport& report) {
  std::string out;
  for (const RunMetrics& each : report.metrics) {
    if (each.level) {
      out += level_text(*each.level, each.metrics);
    } else {
      out += policy_name(report.run, each.label) + ": " + summary_text(each.metrics);
    }
  }
  out += comparison_text(report.beside);
  for (const PolicyLayers& each : report.policies) {
    if (each.agreement) out += agreement_text(each.label, *each.agreement);
  }
  if (!report.comparisons.empty()) {
    out += "against " + report.against + ", " + comparison_text(report.comparisons);
    if (!report.asked_otherwise.empty()) out += "asked otherwise: " + report.asked_otherwise + "\n";
  }
  return out;
}

Json to_json(const EvalReport& report) {
  Json out = {{"run", report.run.name}, {"asked", report.run.asked}, {"policies", Json::array()}};
  for (const RunMetrics& each : report.metrics) {
    if (!each.level) {
      out["policies"].push_back(
          {{"label", policy_name(report.run, each.label)}, {"summary", to_json(each.metrics)}});
    } else {
      out["policies"].back()["levels"][*each.level] = to_json(each.metrics);
    }
  }
  for (size_t i = 0; i < report.policies.size(); ++i) {
    const PolicyLayers& each = report.policies[i];
    out["policies"][i]["layers"] = to_json(each.layers);
    if (!each.agreement) continue;
    out["opinions"].push_back(
        {{"label", policy_name(report.run, each.label)}, {"agreement", to_json(*each.agreement)}});
  }
  for (const RunComparison& each : report.beside) out["beside"].push_back(to_json(each));
  for (const RunComparison& each : report.comparisons) {
    out["against"].push_back(to_json(each));
    out["against"].back()["run"] = report.against;
    out["against"].back()["asked_otherwise"] = report.asked_otherwise;
  }
  return out;
}

}  // namespace kw
