// The verdict's evidence: its stages, the numerical trials and the timing. Members that are missing
// are shown as missing.
#include <algorithm>

#include "eval/run/figures.h"
#include "report/sections.h"

namespace kw {
namespace {

constexpr size_t kMostNames = 12;

std::string list_text(const Json& list) {
  std::string out;
  size_t count = 0;
  for (const Json& item : list) {
    if (++count > kMostNames) return out + ", …";
    out += (out.empty() ? "" : ", ") + (item.is_string() ? item.get<std::string>() : item.dump());
  }
  return out;
}

std::string coverage_text(const Json& evidence) {
  std::string out = "Triton share " + shown(number_at(evidence, "share"), percent_text) +
                    " (FLOPs " + shown(number_at(evidence, "flops_share"), percent_text) +
                    ", bytes " + shown(number_at(evidence, "bytes_share"), percent_text) + "), " +
                    shown(number_at(evidence, "launches_alive"), number_text) +
                    " launches that are not found idle";
  const Json* left = member(evidence, "aten_left");
  if (left && left->is_array() && !left->empty()) out += "; PyTorch left: " + list_text(*left);
  const Json* idle = member(evidence, "idle_launches");
  if (idle && idle->is_array() && !idle->empty()) {
    out += "; launches that change nothing: " + list_text(*idle);
  }
  return out;
}

size_t array_size(const Json& evidence, std::string_view key) {
  const Json* list = member(evidence, key);
  return list && list->is_array() ? list->size() : 0;
}

// What a stage found, in one line.
std::string stage_text(const StageResult& stage) {
  switch (stage.stage) {
    case Stage::kLoad:
      return "defines what it must and has a Triton kernel";
    case Stage::kRecord:
      return shown(number_at(stage.evidence, "steps"), number_text) + " steps, " +
             shown(number_at(stage.evidence, "kernels"), number_text) + " kernels";
    case Stage::kCompile:
      return count_text(array_size(stage.evidence, "kernels"), "kernel") + " compiled";
    case Stage::kCoverage:
      return coverage_text(stage.evidence);
    case Stage::kCorrect:
      return count_text(array_size(stage.evidence, "trials"), "trial") + ", inputs drawn afresh";
    case Stage::kTime:
      return shown(number_at(stage.evidence, "rounds"), number_text) + " interleaved rounds";
  }
  return {};
}

void write_stages(Markup& out, const Verdict& verdict) {
  const auto table = out.element("table");
  write_header_row(out, {{"stage"}, {""}, {"found"}, {"took", true}});
  const auto body = out.element("tbody");
  for (const StageResult& stage : verdict.stages) {
    const auto row = out.element("tr");
    out.leaf("td", stage_name(stage.stage), {{"class", "strong"}});
    {
      const auto cell = out.element("td");
      const bool judged = verdict.outcome != Verdict::Outcome::kNotJudged;
      out.leaf("span",
               stage.passed ? "passed"
               : judged     ? "failed"
                            : "not judged",
               {{"class", stage.passed ? "badge good" : "badge bad"}});
    }
    out.leaf("td", stage.passed || stage.reason.empty() ? stage_text(stage) : stage.reason);
    out.leaf("td", time_text(stage.seconds), {{"class", "number"}});
  }
}

// Candidate's and allowed error of one kind, with a bar for how much was used up.
void write_used_cells(Markup& out, const Json& errors, const std::string& kind) {
  const auto candidate = number_at(errors, "candidate_" + kind);
  const auto allowed = number_at(errors, "allowed_" + kind);
  out.leaf("td", shown(candidate, number_text), {{"class", "number strong"}});
  out.leaf("td", shown(allowed, number_text), {{"class", "number"}});
  const bool known = candidate && allowed && *allowed > 0;
  const double used = known ? *candidate / *allowed : 0;
  write_bars(out, {{used, used <= 1 ? "good" : "bad"}});
}

// The reference's error before them.
void write_error_cells(Markup& out, const Json& errors, const std::string& kind) {
  out.leaf("td", shown(number_at(errors, "reference_" + kind), number_text), {{"class", "number"}});
  write_used_cells(out, errors, kind);
}

void write_trial(Markup& out, size_t number, const Json& trial) {
  const Json* outputs = member(trial, "outputs");
  const std::string skipped = string_at(trial, "skipped");
  if (!skipped.empty() || !outputs || !outputs->is_array() || outputs->empty()) {
    const auto row = out.element("tr");
    out.leaf("td", std::to_string(number), {{"class", "number"}});
    out.leaf("td", string_at(trial, "variation"));
    out.leaf("td", skipped.empty() ? "no outputs" : "skipped: " + skipped,
             {{"colspan", "10"}, {"class", "quiet"}});
    return;
  }
  for (size_t k = 0; k < outputs->size(); ++k) {
    const Json& errors = (*outputs)[k];
    const Json* exact = member(errors, "exact");
    const auto row = out.element("tr");
    out.leaf("td", k ? "" : std::to_string(number), {{"class", "number"}});
    out.leaf("td", k ? "" : string_at(trial, "variation"), {{"class", "nowrap"}});
    const bool equal = exact && exact->is_boolean() && exact->get<bool>();
    out.leaf("td", std::to_string(k) + (equal ? ", bit-equal" : ""));
    out.leaf("td", string_at(errors, "dtype"), {{"class", "quiet"}});
    write_error_cells(out, errors, "rms");
    write_error_cells(out, errors, "worst");
  }
}

void write_numerics(Markup& out, const StageResult& stage) {
  out.leaf("h3", "Numerics", {{"id", "numerics"}});
  out.leaf("p",
           "Errors against a float64 run of the reference, relative to the RMS of its output. The "
           "allowance follows from the reference's own error in its own precision; bars show how "
           "much of it was used.",
           {{"class", "caption"}});
  const Json* trials = member(stage.evidence, "trials");
  if (!trials || !trials->is_array() || trials->empty()) {
    out.leaf("p", "No trial was finished.", {{"class", "caption"}});
    return;
  }
  const auto scroll = out.element("div", {{"class", "scroll"}});
  const auto table = out.element("table");
  write_header_row(out, {{"trial", true},
                         {"inputs"},
                         {"output"},
                         {"dtype"},
                         {"RMS: PyTorch", true},
                         {"ours", true},
                         {"allowed", true},
                         {"used"},
                         {"worst: PyTorch", true},
                         {"ours", true},
                         {"allowed", true},
                         {"used"}});
  const auto body = out.element("tbody");
  for (size_t i = 0; i < trials->size(); ++i) write_trial(out, i + 1, (*trials)[i]);
}

// The configurations of autotuned kernels, and which of them the program has.
void write_configurations(Markup& out, const std::vector<ConfigurationResult>& configurations) {
  out.leaf("h3", "Configurations", {{"id", "configurations"}});
  out.leaf("p",
           "Time alone chooses a configuration of each autotuned kernel. Each was timed with the "
           "other kernels in the first one that runs. The chosen ones are in the program that this "
           "page is about; the others are not judged.",
           {{"class", "caption"}});
  const auto scroll = out.element("div", {{"class", "scroll"}});
  const auto table = out.element("table");
  write_header_row(out, {{"kernel"}, {"configuration"}, {"whole program", true}, {""}});
  const auto body = out.element("tbody");
  for (const ConfigurationResult& result : configurations) {
    const auto row = out.element("tr");
    out.leaf("td", result.kernel, {{"class", "strong"}});
    out.leaf("td", result.configuration + (result.chosen ? " (chosen)" : ""));
    const std::string time =
        result.device_ms > 0 ? time_text(1e-3 * result.device_ms) : "not timed";
    out.leaf("td", time, {{"class", "number"}});
    out.leaf("td", result.reason);
  }
}

struct TimedRow {
  const char* key;
  const char* name;
};
constexpr TimedRow kTimed[] = {
    {"eager", "eager PyTorch"}, {"torch.compile", "torch.compile"}, {"candidate", "optimized"}};

void write_timed_row(Markup& out, const Json& evidence, const TimedRow& timed, double longest) {
  const Json* row = member(evidence, timed.key);
  if (!row) return;
  const auto device = number_at(*row, "device_ms");
  const auto scope = out.element("tr");
  out.leaf("td", timed.name, {{"class", "strong"}});
  const auto show_ms = [](double ms) { return time_text(1e-3 * ms); };
  out.leaf("td", shown(device, show_ms), {{"class", "number"}});
  write_bars(out, {{device && longest > 0 ? *device / longest : 0}});
  out.leaf("td", shown(number_at(*row, "wall_ms"), show_ms), {{"class", "number"}});
}

void write_speedup(Markup& out, const std::optional<Interval>& interval, const char* baseline) {
  if (!interval) return;
  out.leaf("li", std::string(baseline) + ": " + ratio_text(interval->estimate) +
                     ", 95 % interval " + interval_text(*interval));
}

void write_timing(Markup& out, const ReportContext& c, const StageResult& stage) {
  out.leaf("h3", "Time", {{"id", "time"}});
  {
    const auto caption = out.element("p", {{"class", "caption"}});
    out.text("Medians of " + shown(number_at(stage.evidence, "rounds"), number_text) +
             " rounds, interleaved in random order, L2 flushed before each run ");
    write_origin(out, true);
  }
  const auto floor = number_at(stage.evidence, "floor_ms");
  double longest = floor.value_or(0);
  for (const TimedRow& timed : kTimed) {
    const Json* row = member(stage.evidence, timed.key);
    if (row) longest = std::max(longest, number_at(*row, "device_ms").value_or(0));
  }
  {
    const auto table = out.element("table", {{"class", "bars"}});
    write_header_row(out, {{""}, {"device", true}, {""}, {"wall", true}});
    const auto body = out.element("tbody");
    for (const TimedRow& timed : kTimed) write_timed_row(out, stage.evidence, timed, longest);
    if (floor) {
      const auto row = out.element("tr", {{"class", "view"}});
      out.leaf("td", "physical floor");
      out.leaf("td", time_text(1e-3 * *floor), {{"class", "number"}});
      write_bars(out, {{longest > 0 ? *floor / longest : 0}});
      out.leaf("td", "");
    }
  }
  const auto list = out.element("ul");
  write_speedup(out, c.result.verdict.speedup_eager, "Speedup over eager");
  write_speedup(out, c.result.verdict.speedup_compile, "Speedup over torch.compile");
}

// Replaces write_timing if the result was not timed as a whole.
void write_estimate(Markup& out, const ReportContext& c) {
  out.leaf("h3", "Time", {{"id", "time"}});
  {
    const auto caption = out.element("p", {{"class", "caption"}});
    out.text("The result was not timed end to end. Sums over its steps: ");
    write_origin(out, c.result.measured);
  }
  const double longest = std::max(c.result.reference_seconds, c.cover_seconds);
  const auto table = out.element("table", {{"class", "bars"}});
  write_header_row(out, {{""}, {c.result.measured ? "sum" : "modelled, not measured", true}, {""}});
  const auto body = out.element("tbody");
  const auto row = [&](const char* name, double seconds) {
    const auto scope = out.element("tr");
    out.leaf("td", name, {{"class", "strong"}});
    out.leaf("td", time_text(seconds), {{"class", "number"}});
    write_bars(out, {{longest > 0 ? seconds / longest : 0}});
  };
  row("eager PyTorch", c.result.reference_seconds);
  row("optimized", c.cover_seconds);
}

}  // namespace

void write_evidence(Markup& out, const ReportContext& c) {
  const auto section = out.element("section", {{"id", "verdict"}});
  const bool unused = c.result.python.empty() && !c.result.verdict.stages.empty();
  out.leaf("h2", unused ? "Verdict on what was found, which is not used" : "Verdict");
  if (c.result.verdict.stages.empty()) {
    out.leaf("p", "No result was judged.", {{"class", "caption"}});
    return;
  }
  write_stages(out, c.result.verdict);
  if (!c.result.verdict.configurations.empty()) {
    write_configurations(out, c.result.verdict.configurations);
  }
  if (const StageResult* correct = c.stage(Stage::kCorrect)) write_numerics(out, *correct);
  if (const StageResult* time = c.stage(Stage::kTime)) {
    write_timing(out, c, *time);
  } else {
    write_estimate(out, c);
  }
}

}  // namespace kw
