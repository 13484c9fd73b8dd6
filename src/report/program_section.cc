// The program that was searched, the reference's or another form of it: its graph with what was
// fused, and where eager time goes.
#include <algorithm>
#include <numeric>

#include "eval/run/figures.h"
#include "report/graph/graph_svg.h"
#include "report/sections.h"

namespace kw {
namespace {

constexpr size_t kMostDrawn = 600;  // a larger graph is of no use to a reader
constexpr size_t kMostBars = 60;

std::vector<GraphGroup> frames(const ReportContext& c) {
  std::vector<GraphGroup> groups;
  for (const ChosenFragment& fragment : c.chosen) {
    GraphGroup group;
    group.steps = fragment.steps;
    group.title = std::to_string(fragment.number) + "  " + fragment.attempt->family;
    group.title = ellipsis(group.title, 32);
    groups.push_back(group);
  }
  return groups;
}

// Whether no step was measured alone.
bool is_modelled(const ReportContext& c) {
  const std::vector<bool>& measured = c.result.step_measured;
  return std::find(measured.begin(), measured.end(), true) == measured.end();
}

void write_legend(Markup& out, const ReportContext& c) {
  const auto legend = out.element("p", {{"class", "caption"}});
  out.text(
      "Values flow down; each tab is a value that leaves its step. A coloured frame encloses "
      "the steps that one fragment replaces. Views, which cost nothing, are dashed. "
      "Percentages are shares of eager time ");
  write_origin(out, !is_modelled(c));
}

// How the program differs from the recorded one.
void write_changes(Markup& out, const ReportContext& c) {
  if (c.result.changes.empty()) return;
  out.leaf("p", "Before kernels were written, the recorded program was changed into an equal one:",
           {{"class", "caption"}});
  const auto list = out.element("ul");
  for (const std::string& change : c.result.changes) out.leaf("li", change);
}

void write_picture(Markup& out, const ReportContext& c) {
  if (c.result.base.forward.steps.empty()) {
    out.leaf("p", "There is no program to draw.", {{"class", "caption"}});
    return;
  }
  if (c.result.base.forward.steps.size() > kMostDrawn) {
    out.leaf("p",
             "The program has " + std::to_string(c.result.base.forward.steps.size()) +
                 " steps; graphs are drawn up to " + std::to_string(kMostDrawn) + ".",
             {{"class", "caption"}});
    return;
  }
  write_legend(out, c);
  const auto scroll = out.element("div", {{"class", "graph"}, {"tabindex", "0"}});
  write_graph(out, draw_program(c.text, frames(c)), c.text, c.result.step_seconds);
}

// The slowest of the steps that take time, in program order; `left_out` counts the others.
std::vector<int> steps_to_show(const ReportContext& c, size_t& left_out) {
  const std::vector<double>& seconds = c.result.step_seconds;
  std::vector<int> order;
  for (size_t i = 0; i < std::min(seconds.size(), c.fragment_of_step.size()); ++i) {
    if (seconds[i] > 0) order.push_back(static_cast<int>(i));
  }
  left_out = order.size() > kMostBars ? order.size() - kMostBars : 0;
  if (left_out > 0) {
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return seconds[a] > seconds[b]; });
    order.resize(kMostBars);
    std::sort(order.begin(), order.end());
  }
  return order;
}

void write_step_row(Markup& out, const ReportContext& c, int step, double slowest) {
  const int fragment = c.fragment_of_step[step];
  const auto row = out.element("tr");
  out.leaf("td", "#" + std::to_string(step), {{"class", "number"}});
  {
    const auto op = out.element("td");
    out.leaf("code", c.text.op(step), {{"title", c.text.line(step)}});
  }
  {
    const auto shape = out.element("td");
    const std::vector<ValueId> results = step_defines(c.text.program().steps[step]);
    if (!results.empty()) {
      out.leaf("code", shape_text(c.text.program().values[results.front()]), {{"class", "quiet"}});
    }
  }
  {
    const auto cell = out.element("td");
    if (fragment > 0) {
      out.leaf("a", std::to_string(fragment),
               {{"href", "#fragment-" + std::to_string(fragment)},
                {"class", "chip " + group_class(fragment - 1)}});
    }
  }
  const double seconds = c.result.step_seconds[step];
  const std::vector<bool>& measured = c.result.step_measured;
  const bool known = static_cast<size_t>(step) < measured.size() && measured[step];
  const bool modelled = !known && !is_modelled(c);
  out.leaf("td", time_text(seconds) + (modelled ? " (modelled)" : ""), {{"class", "number"}});
  write_bars(out, {{slowest > 0 ? seconds / slowest : 0,
                    fragment > 0 ? group_class(fragment - 1) : "plain"}});
}

void write_steps(Markup& out, const ReportContext& c) {
  const std::vector<double>& seconds = c.result.step_seconds;
  size_t left_out = 0;
  const std::vector<int> shown_steps = steps_to_show(c, left_out);
  if (shown_steps.empty()) return;
  out.leaf("h3", "Eager time by step", {{"id", "steps"}});
  {
    const auto caption = out.element("p", {{"class", "caption"}});
    out.text(time_text(c.eager_seconds) + " in all ");
    write_origin(out, !is_modelled(c));
  }
  double slowest = 0, left = c.eager_seconds;
  for (int step : shown_steps) {
    slowest = std::max(slowest, seconds[step]);
    left -= seconds[step];
  }
  {
    const auto table = out.element("table", {{"class", "bars"}});
    write_header_row(out, {{"step", true},
                           {"operator"},
                           {"result"},
                           {"fragment"},
                           {is_modelled(c) ? "eager (modelled, not measured)" : "eager", true},
                           {""}});
    const auto body = out.element("tbody");
    for (int step : shown_steps) write_step_row(out, c, step, slowest);
  }
  if (left_out > 0) {
    out.leaf("p",
             count_text(left_out, "faster step") + ", not shown, take " +
                 time_text(std::max(left, 0.0)) + " together" +
                 (is_modelled(c) ? " (modelled, not measured)." : "."),
             {{"class", "caption"}});
  }
}

}  // namespace

void write_program(Markup& out, const ReportContext& c) {
  const auto section = out.element("section", {{"id", "program"}});
  out.leaf("h2", "Program");
  write_changes(out, c);
  write_picture(out, c);
  write_steps(out, c);
}

}  // namespace kw
