#include "report/eval_page.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>

#include "eval/run/eval_summary.h"
#include "eval/run/figures.h"
#include "report/comparison_section.h"
#include "report/markup/charts.h"
#include "report/markup/line_diff.h"
#include "report/sections.h"

namespace kw {
namespace {

constexpr std::string_view kStyle = R"css(
.filters { display: flex; flex-wrap: wrap; gap: 8px 14px; margin: 8px 0; font-size: 13.5px; }
.filters input, .filters select { font: inherit; padding: 2px 6px; background: var(--card);
  color: var(--ink); border: 1px solid var(--line); border-radius: 6px; }
.model { border-bottom: 1px solid var(--line); padding: 2px 0; }
.model > summary { display: grid; gap: 12px; align-items: center;
  grid-template-columns: 96px minmax(0, 3fr) minmax(0, 1fr) 70px 190px minmax(60px, 1fr); }
.model > summary > span { overflow-wrap: anywhere; }
.model > summary > .badge { justify-self: start; }
.model .sample { margin: 6px 0 10px 18px; }
.ratio { position: relative; height: 12px; background: var(--code); border-radius: 3px;
  overflow: hidden; }
.ratio i { position: absolute; top: 0; bottom: 0; background: var(--good); opacity: .8; }
.ratio i.slower { background: var(--bad); }
.ratio b { position: absolute; top: 0; bottom: 0; width: 1px; background: var(--ink); }
.diff .add { color: var(--good); } .diff .remove { color: var(--bad); }
.diff .gap { color: var(--quiet); }
)css";

// Hides the rows that do not match. The script reads nothing of the page but its data-* attributes.
constexpr std::string_view kScript = R"js(
(() => {
  const models = [...document.querySelectorAll('.model')];
  const text = document.getElementById('find'), shown = document.getElementById('shown');
  const picks = [...document.querySelectorAll('.filters select')];
  const update = () => {
    const words = text.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const model of models) {
      const fits = picks.every(p => !p.value || model.dataset[p.name] === p.value.slice(1))
        ? words.every(word => model.dataset.text.includes(word)) : false;
      model.hidden = !fits;
      count += fits;
    }
    shown.textContent = count + ' of ' + models.length;
  };
  text.addEventListener('input', update);
  picks.forEach(p => p.addEventListener('change', update));
  document.querySelector('.filters').hidden = false;
  update();
})();
)js";

constexpr int kContext = 3;             // equal lines around what differs
constexpr double kWidestRatio = 4;      // of a bar; its middle is 1
constexpr size_t kMostReasons = 60;     // rows of the table
constexpr size_t kLongestReason = 400;  // characters in a model's row

std::string estimate_text(const std::optional<Estimate>& x, std::string (*show)(double)) {
  if (!x) return "";
  std::string out = show(x->value);
  if (x->interval) out += " [" + show(x->interval->lower) + ", " + show(x->interval->upper) + "]";
  return out;
}

std::string fast_text(const Metrics& metrics, double p) {
  if (!metrics.eager) return "";
  const auto found = metrics.eager->fast_best.find(p);
  return found == metrics.eager->fast_best.end() ? "" : percent_text(found->second.value);
}

std::string mean_text(const std::optional<SpeedMetrics>& speed,
                      std::optional<Estimate> SpeedMetrics::*which) {
  return speed ? estimate_text((*speed).*which, ratio_text) : "";
}

struct MetricColumn {
  std::string title;
  std::function<std::string(const Metrics&)> text;  // empty: nothing is known
};

// A column that says nothing of any policy or level is left out.
const std::vector<MetricColumn>& metric_columns() {
  using M = Metrics;
  const auto count = [](size_t M::*which) {
    return [which](const M& m) { return std::to_string(m.*which); };
  };
  static const std::vector<MetricColumn> all = {
      {"tasks", count(&M::tasks)},
      {"unusable", unusable_text},
      {"verified", [](const M& m) { return estimate_text(m.solved, percent_text); }},
      {"without degenerate",
       [](const M& m) {
         return m.degenerate == 0 ? "" : estimate_text(m.solved_others, percent_text);
       }},
      {"pass@1",
       [](const M& m) {
         const auto found = m.pass_at.find(1);
         return found == m.pass_at.end() ? "" : estimate_text(found->second, percent_text);
       }},
      {"samples", count(&M::answers)},
      {"valid", count(&M::valid)},
      {"compiled", count(&M::compiled)},
      {"right", count(&M::correct)},
      {"Triton share", [](const M& m) { return m.share ? percent_text(m.share->value) : ""; }},
      {"fast_1", [](const M& m) { return fast_text(m, 1); }},
      {"fast_1.5", [](const M& m) { return fast_text(m, 1.5); }},
      {"fast_2", [](const M& m) { return fast_text(m, 2); }},
      {"mean, right",
       [](const M& m) { return mean_text(m.eager, &SpeedMetrics::geometric_mean_right); }},
      {"mean, all",
       [](const M& m) { return mean_text(m.eager, &SpeedMetrics::geometric_mean_all); }},
      {"over torch.compile",
       [](const M& m) { return mean_text(m.compile, &SpeedMetrics::geometric_mean_right); }}};
  return all;
}

// ", torch 2.11.0, triton 3.6.0"
std::string versions_text(const EvalRun& run) {
  std::string out;
  const Json versions = run.asked.value("versions", Json());
  for (const char* name : {"torch", "triton"}) {
    const std::string version = string_at(versions, name);
    if (!version.empty()) out += ", " + std::string(name) + " " + version;
  }
  return out;
}

std::string level_name(const std::string& level) { return level.empty() ? "no level" : level; }

bool is_right(const Json& sample) { return verdict_of(sample) == true; }

// The right sample with the largest estimate; -1: none has a time.
int best_sample(const Json& line) {
  int best = -1;
  double most = 0;
  const Json& samples = line.at("samples");
  for (size_t k = 0; k < samples.size(); ++k) {
    if (!is_right(samples[k])) continue;
    const auto ratio = number_at(samples[k].value("speedup_eager", Json()), "estimate");
    if (ratio && *ratio > most) most = *ratio, best = static_cast<int>(k);
  }
  return best;
}

class Page {
 public:
  Page(Markup& out, const EvalReport& report, bool with_sources)
      : out_(out), report_(report), run_(report.run), with_sources_(with_sources) {}

  void write() {
    write_top();
    write_metrics();
    if (!report_.beside.empty()) {
      write_comparison(out_, "beside", "Policies beside each other", report_.beside);
    }
    if (!report_.comparisons.empty()) {
      const std::string& other = report_.asked_otherwise;
      write_comparison(out_, "comparison", "Against " + report_.against, report_.comparisons,
                       other.empty() ? "" : "Asked otherwise: " + other);
    }
    write_curves();
    write_layers();
    if (!report_.opinions.empty()) write_opinions();
    write_reasons();
    write_models();
  }

 private:
  void write_top();
  void write_metrics();
  void write_layers();
  void write_opinions();
  void write_curves();
  void write_reasons();
  void write_models();
  void write_select(const char* name, const std::string& title,
                    const std::map<std::string, size_t>& values);
  void write_model(const Json& line);
  void write_ratio(const Json& interval);
  void write_sample(const Json& line, size_t k);
  void write_diff(const std::string& before, const std::string& after);

  Markup& out_;
  const EvalReport& report_;
  const EvalRun& run_;
  const bool with_sources_;
};

void Page::write_top() {
  const auto header = out_.element("header", {{"id", "headline"}});
  out_.leaf("div", "Kernelwright", {{"class", "brand"}});
  out_.leaf("h1", run_.name);
  std::string flags;
  const Json given = run_.asked.value("flags", Json::object());
  for (const auto& [flag, values] : given.items()) {
    if (flag.starts_with("-")) flags += " " + flag;  // else it is a positional argument
    if (!values.is_array()) continue;
    for (const Json& value : values) {
      flags += " " + (value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  out_.leaf("p",
            "kernelwright eval" + flags + "; backend " + string_at(run_.asked, "backend") +
                ", kernels for " + string_at(run_.asked, "device") + versions_text(run_) +
                (is_timed(run_) ? "" : "; nothing is timed"),
            {{"class", "verdict"}});
  const auto cards = out_.element("div", {{"class", "cards"}});
  const Metrics& all = report_.metrics.front().metrics;
  const std::string whose =
      run_.labels.size() > 1 ? " (" + policy_name(run_, report_.metrics.front().label) + ")" : "";
  { Card card(out_, count_text(all.tasks, "task"), count_text(all.answers, "judged sample")); }
  {
    Card card(out_, all.solved ? percent_text(all.solved->value) : "–",
              "of the tasks have a verified sample" + whose);
  }
  if (const auto found = all.pass_at.find(1); found != all.pass_at.end() && found->second) {
    Card card(out_, percent_text(found->second->value), "pass@1" + whose);
  }
  if (all.eager && all.eager->geometric_mean_right) {
    Card card(out_, ratio_text(all.eager->geometric_mean_right->value),
              "geometric mean over eager where verified" + whose);
  }
}

void Page::write_metrics() {
  const auto section = out_.element("section", {{"id", "metrics"}});
  out_.leaf("h2", "Metrics");
  out_.leaf(
      "p",
      "95 % intervals over tasks. fast_p: share of all tasks whose best sample is right and, "
      "by the lower end of its speedup's interval, more than p times as fast as PyTorch; "
      "means are geometric, of best samples. Degenerate tasks are those that zeros, a constant or "
      "the answer to other inputs would pass. Unusable are models that are no tasks, by the code "
      "of "
      "their fault (operator: one that is not supported here). docs/formats/eval.md has the "
      "definitions.",
      {{"class", "caption"}});
  std::vector<Column> columns = {{"policy"}, {"level"}};
  std::vector<const MetricColumn*> shown;
  for (const MetricColumn& column : metric_columns()) {
    const auto says = [&](const RunMetrics& each) { return !column.text(each.metrics).empty(); };
    if (std::none_of(report_.metrics.begin(), report_.metrics.end(), says)) continue;
    columns.push_back({column.title, true});
    shown.push_back(&column);
  }
  const auto scroll = out_.element("div", {{"class", "scroll"}});
  const auto table = out_.element("table");
  write_header_row(out_, columns);
  const auto body = out_.element("tbody");
  for (const RunMetrics& each : report_.metrics) {
    const auto row = out_.element("tr");
    out_.leaf("td", policy_name(run_, each.label));
    out_.leaf("td", each.level ? level_name(*each.level) : "all");
    for (const MetricColumn* column : shown) {
      const std::string text = column->text(each.metrics);
      number_cell(out_, text.empty() ? "–" : text);
    }
  }
}

void Page::write_layers() {
  const auto section = out_.element("section", {{"id", "layers"}});
  out_.leaf("h2", "What each layer removes");
  out_.leaf("p",
            "Layers in turn: what each removes of what those before it left. By itself: what it "
            "would remove of all samples, those of these that the verdict accepts, and those that "
            "it would let through though the verdict rejects them. Rule: by the text alone. "
            "Compile: loaded, recorded and compiled. Coverage: the work is not left to PyTorch. "
            "Allclose: KernelBench's comparison.",
            {{"class", "caption"}});
  const auto scroll = out_.element("div", {{"class", "scroll"}});
  const auto table = out_.element("table");
  write_header_row(out_, {{"policy"},
                          {"layer"},
                          {"says something of", true},
                          {"removes", true},
                          {"left", true},
                          {"by itself", true},
                          {"of these accepted", true},
                          {"lets through", true}});
  const auto body = out_.element("tbody");
  for (const PolicyLayers& policy : report_.policies) {
    for (const Layer& each : policy.layers) {
      const auto row = out_.element("tr");
      out_.leaf("td", policy_name(run_, policy.label));
      out_.leaf("td", each.name);
      for (const size_t count : {each.known, each.removed, each.left, each.rejected,
                                 each.rejected_accepted, each.passed_rejected}) {
        number_cell(out_, std::to_string(count));
      }
    }
  }
}

void Page::write_opinions() {
  const auto section = out_.element("section", {{"id", "opinions"}});
  out_.leaf("h2", "A model's opinion beside the verdict");
  out_.leaf("p",
            "Samples that a reviewer calls functional or not, by what the verdict says of "
            "them. An opinion changes no verdict.",
            {{"class", "caption"}});
  const auto scroll = out_.element("div", {{"class", "scroll"}});
  const auto table = out_.element("table");
  write_header_row(out_, {{"policy"},
                          {"accepted, functional", true},
                          {"accepted, not functional", true},
                          {"rejected, functional", true},
                          {"rejected, not functional", true},
                          {"no opinion", true},
                          {"agreement", true},
                          {"kappa", true}});
  const auto body = out_.element("tbody");
  for (const PolicyLayers& policy : report_.policies) {
    const auto row = out_.element("tr");
    const Agreement& one = *policy.agreement;
    out_.leaf("td", policy_name(run_, policy.label));
    for (const size_t count : {one.accepted_functional, one.accepted_not, one.rejected_functional,
                               one.rejected_not, one.no_opinion}) {
      number_cell(out_, std::to_string(count));
    }
    char share[32] = "–", kappa[32] = "–";
    if (one.both() > 0) {
      std::snprintf(share, sizeof(share), "%.0f %%", 100 * one.share());
      if (const auto known = one.kappa()) std::snprintf(kappa, sizeof(kappa), "%.2f", *known);
    }
    number_cell(out_, share);
    number_cell(out_, kappa);
  }
}

void Page::write_curves() {
  const bool any =
      std::any_of(report_.metrics.begin(), report_.metrics.end(),
                  [](const RunMetrics& each) { return each.metrics.pass_at.size() > 1; });
  if (!any) return;
  const auto section = out_.element("section", {{"id", "pass"}});
  out_.leaf("h2", "pass@k");
  out_.leaf("p",
            "The share of tasks of which k samples, drawn at random from those that were "
            "judged, hold a right one.",
            {{"class", "caption"}});
  const auto charts = out_.element("div", {{"class", "charts"}});
  for (const RunMetrics& each : report_.metrics) {
    std::vector<CurvePoint> points;
    for (const auto& [k, estimate] : each.metrics.pass_at) {
      if (!estimate) continue;
      CurvePoint point{std::to_string(k), estimate->value, estimate->value, estimate->value};
      if (estimate->interval) {
        point.lower = estimate->interval->lower, point.upper = estimate->interval->upper;
      }
      points.push_back(std::move(point));
    }
    if (points.size() < 2) continue;
    const auto part = out_.element("div");
    const std::string title =
        policy_name(run_, each.label) + (each.level ? ", " + level_name(*each.level) : "");
    out_.leaf("h4", title);
    write_curve(out_, "pass@k, " + title, points);
  }
}

void Page::write_reasons() {
  // By policy and stage and reason.
  std::map<std::vector<std::string>, size_t> counts;
  std::map<std::string, size_t> totals;
  for (const Json& line : run_.lines) {
    const std::string policy = policy_name(run_, line.value("label", ""));
    for (const Json& sample : line.at("samples")) {
      ++totals[policy];
      const Verdict::Outcome outcome = outcome_of(sample);
      if (outcome == Verdict::Outcome::kAccepted) continue;
      const std::string stage = string_at(sample, "rejected_at");
      ++counts[{policy, stage.empty() ? std::string(outcome_name(outcome)) : stage,
                string_at(sample, "reason").substr(0, kLongestReason)}];
    }
  }
  if (counts.empty()) return;
  const auto section = out_.element("section", {{"id", "reasons"}});
  out_.leaf("h2", "What was not accepted");
  std::vector<std::pair<std::vector<std::string>, size_t>> rows(counts.begin(), counts.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  if (rows.size() > kMostReasons) {
    out_.leaf("p",
              "The " + std::to_string(kMostReasons) + " most frequent of " +
                  std::to_string(rows.size()) + " reasons.",
              {{"class", "caption"}});
    rows.resize(kMostReasons);
  }
  const auto table = out_.element("table", {{"class", "bars"}});
  write_header_row(out_, {{"policy"}, {"stage"}, {"reason"}, {"samples", true}, {""}});
  const auto body = out_.element("tbody");
  for (const auto& [key, count] : rows) {
    const auto row = out_.element("tr");
    out_.leaf("td", key[0]);
    out_.leaf("td", key[1]);
    out_.leaf("td", key[2], {{"class", "reason"}});
    number_cell(out_, std::to_string(count));
    write_bars(out_, {{static_cast<double>(count) / static_cast<double>(totals[key[0]])}});
  }
}

void Page::write_select(const char* name, const std::string& title,
                        const std::map<std::string, size_t>& values) {
  if (values.size() < 2) return;
  const auto label = out_.element("label");
  out_.text(title + " ");
  const auto select = out_.element("select", {{"name", name}});
  out_.leaf("option", "any", {{"value", ""}});
  for (const auto& [value, count] : values) {
    // With a character before it, so that a level without a name is not "any".
    out_.leaf("option", level_name(value) + " (" + std::to_string(count) + ")",
              {{"value", "=" + value}});
  }
}

void Page::write_models() {
  const auto section = out_.element("section", {{"id", "models"}});
  out_.leaf("h2", "Models");
  std::map<std::string, size_t> outcomes, levels, policies;
  for (const Json& line : run_.lines) {
    ++outcomes[string_at(line, "outcome")];
    ++levels[string_at(line, "level")];
    ++policies[policy_name(run_, line.value("label", ""))];
  }
  {
    const auto filters = out_.element("div", {{"class", "filters"}, {"hidden", ""}});
    {
      const auto label = out_.element("label");
      out_.text("find ");
      out_.empty(
          "input",
          {{"id", "find"}, {"type", "search"}, {"placeholder", "words of a name or reason"}});
    }
    write_select("outcome", "outcome", outcomes);
    write_select("level", "level", levels);
    write_select("policy", "policy", policies);
    out_.leaf("span", "", {{"id", "shown"}, {"class", "quiet"}});
  }
  for (const Json& line : run_.lines) write_model(line);
  const auto script = out_.element("script");
  out_.trusted(kScript);
}

void Page::write_model(const Json& line) {
  const ModelOutcome outcome = model_outcome_from_json(JsonReader(line, "line").at("outcome"));
  const std::string model = string_at(line, "model"),
                    policy = policy_name(run_, line.value("label", ""));
  const Json& samples = line.at("samples");
  std::string reasons = string_at(line, "reason"), found = model + " " + reasons;
  size_t right = 0;
  for (const Json& sample : samples) {
    right += is_right(sample);
    const std::string reason = string_at(sample, "reason");
    found += " " + reason;
    if (reasons.empty() && outcome != ModelOutcome::kVerified) reasons = reason;
  }
  for (char& c : found) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto details =
      out_.element("details", {{"class", "model"},
                               {"data-outcome", std::string(outcome_name(outcome))},
                               {"data-level", string_at(line, "level")},
                               {"data-policy", policy},
                               {"data-text", found}});
  {
    const auto summary = out_.element("summary");
    out_.leaf("span", outcome_name(outcome),
              {{"class", outcome == ModelOutcome::kVerified   ? "badge good"
                         : outcome == ModelOutcome::kRejected ? "badge bad"
                                                              : "badge"}});
    out_.leaf("span", model);
    out_.leaf("span", run_.labels.size() > 1 ? policy : string_at(line, "level"),
              {{"class", "quiet"}});
    out_.leaf("span", std::to_string(right) + "/" + std::to_string(samples.size()),
              {{"class", "number"}});
    const int best = best_sample(line);
    const Json interval =
        best < 0 ? Json() : samples[static_cast<size_t>(best)].value("speedup_eager", Json());
    const auto lower = number_at(interval, "lower"), upper = number_at(interval, "upper"),
               ratio = number_at(interval, "estimate");
    out_.leaf("span",
              ratio && lower && upper
                  ? ratio_text(*ratio) + " [" + ratio_text(*lower) + ", " + ratio_text(*upper) + "]"
                  : reasons.substr(0, 80),
              {{"class", ratio ? "nowrap" : "quiet"}});
    write_ratio(interval);
  }
  if (!string_at(line, "reason").empty()) out_.leaf("p", string_at(line, "reason"));
  const auto reference = with_sources_ ? kept_file(run_, line, ".reference.py") : std::nullopt;
  if (reference) {
    write_source(out_, "the model", *reference, false);
  }
  for (size_t k = 0; k < samples.size(); ++k) write_sample(line, k);
}

// From a quarter to four times as fast, by logarithm: the interval as a bar, 1 as a line.
void Page::write_ratio(const Json& interval) {
  const auto lower = number_at(interval, "lower"), upper = number_at(interval, "upper");
  if (!lower || !upper || !(*lower > 0) || !(*upper > 0)) return;
  const auto place = [](double ratio) {
    return 50 * (1 + std::clamp(std::log(ratio) / std::log(kWidestRatio), -1.0, 1.0));
  };
  const double left = std::min(place(*lower), 98.0), right = place(*upper);
  char style[64];
  std::snprintf(style, sizeof style, "left:%.1f%%;width:%.1f%%", left, std::max(right - left, 2.0));
  const auto box = out_.element("div", {{"class", "ratio"}});
  out_.leaf("i", "", {{"style", style}, {"class", *lower > 1 ? "faster" : "slower"}});
  out_.leaf("b", "", {{"style", "left:50%"}});
}

void Page::write_sample(const Json& line, size_t k) {
  const Json& sample = line.at("samples")[k];
  const auto box = out_.element("div", {{"class", "sample"}});
  std::string text = "sample " + std::to_string(k) + ": " + string_at(sample, "outcome");
  if (const std::string at = string_at(sample, "rejected_at"); !at.empty()) text += " at " + at;
  if (const auto same = number_at(sample, "same_as")) {
    text += ", judged as sample " + std::to_string(static_cast<int>(*same));
  }
  if (sample.value("degenerate", Json()) == true) text += ", degenerate";
  const std::string file = string_at(sample, "file");
  if (file == "same") text += ", and its own file does the same";
  if (file == "other") text += ", but its own file does something else";
  out_.leaf("h4", text);
  for (const char* reason : {"reason", file == "other" ? "file_reason" : ""}) {
    const std::string why = string_at(sample, reason);
    if (!why.empty()) out_.leaf("pre", why, {{"class", "wrap"}});
  }
  if (const std::string hash = string_at(sample, "program"); !hash.empty()) {
    out_.leaf("p", "Program " + hash, {{"class", "caption"}});
  }
  if (const std::string plan = string_at(sample, "plan"); !plan.empty()) {
    out_.leaf("p", string_at(sample, "family") + ": " + plan, {{"class", "caption"}});
  }
  const auto opinion =
      report_.opinions.find({line.at("model"), line.value("label", ""), static_cast<int>(k)});
  if (opinion != report_.opinions.end()) {
    out_.leaf("p", opinion->second.reviewer + ": " + opinion_text(opinion->second),
              {{"class", "caption"}});
  }
  if (!with_sources_) return;
  const std::string number = "." + std::to_string(k);
  if (const auto source = kept_file(run_, line, number + ".fragment.py")) {
    write_source(out_, "what was written", *source, false);
  }
  const auto reference = kept_file(run_, line, ".reference.py"),
             whole = kept_file(run_, line, number + ".py");
  if (reference && whole) write_diff(*reference, *whole);
}

void Page::write_diff(const std::string& before, const std::string& after) {
  using Kind = DiffLine::Kind;
  const std::vector<DiffLine> lines = line_diff(before, after);
  const auto details = out_.element("details");
  out_.leaf("summary", "the model's file with it in place, against the model's file");
  const auto block = out_.element("pre", {{"class", "code diff"}});
  // How far each line is from one that differs.
  std::vector<size_t> far(lines.size(), lines.size());
  const auto mark = [&](auto begin, auto end, auto next) {
    size_t distance = lines.size();
    for (auto i = begin; i != end; i = next(i)) {
      const auto at = static_cast<size_t>(i);
      distance = lines[at].kind == Kind::kSame ? distance + 1 : 0;
      far[at] = std::min(far[at], distance);
    }
  };
  const auto count = static_cast<ptrdiff_t>(lines.size());
  mark(ptrdiff_t{0}, count, [](ptrdiff_t i) { return i + 1; });
  mark(count - 1, ptrdiff_t{-1}, [](ptrdiff_t i) { return i - 1; });
  for (size_t i = 0; i < lines.size();) {
    size_t end = i;
    while (end < lines.size() && far[end] > kContext) ++end;
    if (end > i) {
      out_.leaf("span", "⋯ " + count_text(end - i, "equal line") + "\n", {{"class", "gap"}});
      i = end;
      continue;
    }
    const DiffLine& line = lines[i++];
    const char* sign = line.kind == Kind::kAdded ? "+" : line.kind == Kind::kRemoved ? "-" : " ";
    const std::string text = sign + std::string(line.text) + "\n";
    if (line.kind == Kind::kSame) {
      out_.text(text);
    } else {
      out_.leaf("span", text, {{"class", line.kind == Kind::kAdded ? "add" : "remove"}});
    }
  }
}

}  // namespace

std::string eval_page(const EvalReport& report, bool with_sources) {
  Markup out;
  out.trusted("<!DOCTYPE html>\n");
  {
    const auto html = out.element("html", {{"lang", "en"}});
    write_head(out, report.run.name, std::string(kChartStyle) + std::string(kStyle), kScript);
    const auto body = out.element("body");
    Page(out, report, with_sources).write();
  }
  return out.str() + "\n";
}

}  // namespace kw
