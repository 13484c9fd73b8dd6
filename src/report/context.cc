// What the sections of the report share: see sections.h.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "eval/run/figures.h"
#include "report/markup/python_colour.h"
#include "report/sections.h"

namespace kw {
namespace {

// Kernels are named once in a result, so a definition tells which fragment a kernel came from.
bool defines_kernel(const std::string& source, const std::string& name) {
  return !name.empty() && source.find("def " + name + "(") != std::string::npos;
}

std::vector<const Json*> kernels_of(const StageResult* compile, const std::string& source) {
  std::vector<const Json*> out;
  const Json* kernels = compile ? member(compile->evidence, "kernels") : nullptr;
  if (!kernels || !kernels->is_array()) return out;
  for (const Json& kernel : *kernels) {
    if (defines_kernel(source, string_at(kernel, "name"))) out.push_back(&kernel);
  }
  return out;
}

}  // namespace

ReportContext::ReportContext(const OptimizeResult& r) : result(r), text(r.base) {
  const int count = static_cast<int>(r.base.forward.steps.size());
  fragment_of_step.assign(count, 0);
  for (const Attempt& attempt : r.attempts) {
    if (!attempt.chosen) continue;
    ChosenFragment fragment{&attempt, 0, {}, kernels_of(stage(Stage::kCompile), attempt.source)};
    for (int step : attempt.steps) {
      if (step >= 0 && step < count) fragment.steps.push_back(step);
    }
    std::sort(fragment.steps.begin(), fragment.steps.end());
    chosen.push_back(fragment);
  }
  std::stable_sort(chosen.begin(), chosen.end(),
                   [](const auto& a, const auto& b) { return a.steps < b.steps; });
  for (size_t i = 0; i < chosen.size(); ++i) {
    chosen[i].number = static_cast<int>(i) + 1;
    for (int step : chosen[i].steps) fragment_of_step[step] = chosen[i].number;
  }
  for (double s : r.step_seconds) eager_seconds += s;
  cover_seconds = kw::cover_seconds(r);
}

const StageResult* ReportContext::stage(Stage wanted) const {
  const StageResult* found = nullptr;
  for (const StageResult& s : result.verdict.stages) {
    if (s.stage == wanted) found = &s;
  }
  return found;
}

std::string ReportContext::operators(const std::vector<int>& steps) const {
  std::string out;
  for (int step : steps) {
    const bool exists = step >= 0 && step < static_cast<int>(fragment_of_step.size());
    if (!exists || text.is_view(step)) continue;
    out += (out.empty() ? "" : " → ") + text.op(step);
  }
  return out.empty() ? "–" : out;
}

void write_origin(Markup& out, bool measured) {
  out.leaf("span", measured ? "measured" : "modelled, not measured",
           {{"class", measured ? "tag" : "tag model"}});
}

void write_bars(Markup& out, const std::vector<Bar>& bars) {
  const auto cell = out.element("td", {{"class", "bar"}});
  for (const Bar& bar : bars) {
    const double percent = std::isfinite(bar.length) ? 100 * std::clamp(bar.length, 0.0, 1.0) : 0;
    char width[32];
    std::snprintf(width, sizeof(width), "width:%.2f%%", percent);
    out.leaf("span", "", {{"class", "length " + bar.style}, {"style", width}});
  }
}

void write_header_row(Markup& out, const std::vector<Column>& columns) {
  const auto head = out.element("thead");
  const auto row = out.element("tr");
  for (const Column& column : columns) {
    Attributes attributes = {{"scope", "col"}};
    if (column.number) attributes.push_back({"class", "number"});
    out.leaf("th", column.title, attributes);
  }
}

void write_source(Markup& out, const std::string& title, const std::string& source, bool open) {
  Attributes attributes;
  if (open) attributes.push_back({"open", ""});
  const auto details = out.element("details", attributes);
  const auto lines = std::count(source.begin(), source.end(), '\n') +
                     (source.empty() || source.ends_with('\n') ? 0 : 1);
  out.leaf("summary", title + " (" + count_text(static_cast<size_t>(lines), "line") + ")");
  const auto block = out.element("pre", {{"class", "code"}});
  write_python(out, source);
}

}  // namespace kw
