#include "verify/verdict/verdict.h"

namespace kw {
namespace {

constexpr std::string_view kStages[] = {"load", "record", "compile", "coverage", "correct", "time"};
constexpr std::string_view kOutcomes[] = {"accepted", "rejected", "not judged"};
constexpr std::string_view kFileDoes[] = {"not tried", "same", "other"};

Json to_json(const ConfigurationResult& result) {
  return {{"kernel", result.kernel},
          {"configuration", result.configuration},
          {"reason", result.reason},
          {"device_ms", result.device_ms > 0 ? Json(result.device_ms) : Json()},
          {"chosen", result.chosen}};
}

ConfigurationResult configuration_from_json(const JsonReader& in) {
  return {in.at("kernel").string(), in.at("configuration").string(), in.at("reason").string(),
          in.at("device_ms").is_null() ? 0 : in.at("device_ms").number(),
          in.at("chosen").boolean()};
}

}  // namespace

std::string_view stage_name(Stage stage) { return kStages[static_cast<int>(stage)]; }
Stage stage_from_json(const JsonReader& in) { return static_cast<Stage>(in.one_of(kStages)); }
std::string_view outcome_name(Verdict::Outcome outcome) {
  return kOutcomes[static_cast<int>(outcome)];
}
Verdict::Outcome outcome_from_json(const JsonReader& in) {
  return static_cast<Verdict::Outcome>(in.one_of(kOutcomes));
}

std::string_view file_does_name(FileDoes file) { return kFileDoes[static_cast<int>(file)]; }
FileDoes file_does_from_json(const JsonReader& in) {
  return static_cast<FileDoes>(in.one_of(kFileDoes));
}

const StageResult* find_stage(const Verdict& verdict, Stage stage) {
  const auto found = std::find_if(verdict.stages.begin(), verdict.stages.end(),
                                  [&](const StageResult& s) { return s.stage == stage; });
  return found == verdict.stages.end() ? nullptr : &*found;
}

const Json* sanitizer_evidence(const Verdict& verdict) {
  const StageResult* stage = find_stage(verdict, Stage::kCorrect);
  if (!stage) return nullptr;
  const auto found = stage->evidence.find("sanitizer");
  return found == stage->evidence.end() ? nullptr : &*found;
}

std::map<std::string, double> phase_seconds(const Verdict& verdict) {
  std::map<std::string, double> out;
  const auto add = [&out](const Json& part) {
    if (!part.contains("phases")) return;
    for (const auto& [phase, seconds] : part["phases"].items()) out[phase] += seconds.get<double>();
  };
  for (const StageResult& stage : verdict.stages) {
    add(stage.evidence);
    if (!stage.evidence.contains("trials")) continue;
    for (const Json& trial : stage.evidence["trials"]) add(trial);
  }
  return out;
}

Json interval_to_json(const std::optional<Interval>& interval) {
  if (!interval) return nullptr;
  return {{"estimate", interval->estimate}, {"lower", interval->lower}, {"upper", interval->upper}};
}

std::optional<Interval> interval_from_json(const JsonReader& in) {
  if (in.is_null()) return std::nullopt;
  return Interval{in.at("estimate").number(), in.at("lower").number(), in.at("upper").number()};
}

Json to_json(const Verdict& verdict) {
  Json out = {{"format", "kernelwright.verdict"},
              {"version", 1},
              {"outcome", outcome_name(verdict.outcome)},
              {"rejected_at", nullptr},
              {"reason", verdict.reason},
              {"share", verdict.share},
              {"speedup_eager", interval_to_json(verdict.speedup_eager)},
              {"speedup_compile", interval_to_json(verdict.speedup_compile)},
              {"degenerate", verdict.degenerate},
              {"judged", "program"},
              {"program", verdict.program},
              {"file", file_does_name(verdict.file)},
              {"file_reason", verdict.file_reason},
              {"key", verdict.key},
              {"environment", verdict.environment},
              {"stages", Json::array()}};
  if (verdict.calls) out["calls"] = to_json(*verdict.calls);
  if (verdict.rejected_at) out["rejected_at"] = stage_name(*verdict.rejected_at);
  for (const StageResult& stage : verdict.stages) {
    out["stages"].push_back({{"stage", stage_name(stage.stage)},
                             {"passed", stage.passed},
                             {"reason", stage.reason},
                             {"seconds", stage.seconds},
                             {"evidence", stage.evidence}});
  }
  for (const ConfigurationResult& result : verdict.configurations) {
    out["configurations"].push_back(to_json(result));
  }
  return out;
}

Verdict verdict_from_json(const JsonReader& in) {
  if (in.at("format").string() != "kernelwright.verdict") in.at("format").fail("not a verdict");
  Verdict verdict;
  verdict.outcome = outcome_from_json(in.at("outcome"));
  if (!in.at("rejected_at").is_null()) {
    verdict.rejected_at = stage_from_json(in.at("rejected_at"));
  }
  verdict.reason = in.at("reason").string();
  verdict.share = in.at("share").number();
  verdict.speedup_eager = interval_from_json(in.at("speedup_eager"));
  verdict.speedup_compile = interval_from_json(in.at("speedup_compile"));
  if (in.has("calls")) verdict.calls = call_times_from_json(in.at("calls"));
  verdict.degenerate = in.at("degenerate").boolean();
  if (in.has("program")) verdict.program = in.at("program").string();
  if (in.has("file")) verdict.file = file_does_from_json(in.at("file"));
  if (in.has("file_reason")) verdict.file_reason = in.at("file_reason").string();
  verdict.key = in.at("key").string();
  verdict.environment = in.at("environment").raw();
  for (const JsonReader& item : in.at("stages").items()) {
    StageResult stage;
    stage.stage = stage_from_json(item.at("stage"));
    stage.passed = item.at("passed").boolean();
    stage.reason = item.at("reason").string();
    stage.seconds = item.at("seconds").number();
    stage.evidence = item.at("evidence").raw();
    verdict.stages.push_back(std::move(stage));
  }
  if (in.has("configurations")) {
    for (const JsonReader& item : in.at("configurations").items()) {
      verdict.configurations.push_back(configuration_from_json(item));
    }
  }
  return verdict;
}

}  // namespace kw
