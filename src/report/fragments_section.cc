// What was replaced: a table of the chosen fragments, then each kernel beside its PyTorch steps.
#include <algorithm>
#include <map>

#include "eval/run/figures.h"
#include "report/graph/graph_svg.h"
#include "report/markup/python_colour.h"
#include "report/sections.h"

namespace kw {
namespace {

std::string speedup_text(const Attempt& a) {
  return a.seconds > 0 && a.eager_seconds > 0 ? ratio_text(a.eager_seconds / a.seconds) : "–";
}

// One member of the compile evidence for all kernels of a fragment: "32" or "32, 64".
std::string resource_text(const ChosenFragment& fragment, const char* what,
                          std::string (*show)(double)) {
  std::string out;
  for (const Json* kernel : fragment.kernels) {
    out += (out.empty() ? "" : ", ") + shown(number_at(*kernel, what), show);
  }
  return out.empty() ? "–" : out;
}

void write_fragment_row(Markup& out, const ReportContext& c, const ChosenFragment& f,
                        double longest) {
  const Attempt& a = *f.attempt;
  const auto row = out.element("tr");
  {
    const auto cell = out.element("td");
    out.leaf("a", std::to_string(f.number),
             {{"href", "#fragment-" + std::to_string(f.number)},
              {"class", "chip " + group_class(f.number - 1)}});
  }
  const std::string operators = c.operators(f.steps);
  out.leaf("td", ellipsis(operators, 60), {{"title", operators}});
  out.leaf("td", steps_text(f.steps), {{"class", "quiet"}});
  out.leaf("td", a.family);
  number_cell(out, time_text(a.eager_seconds));
  number_cell(out, time_text(a.seconds));
  const double scale = longest > 0 ? 1 / longest : 0;
  write_bars(out, {{a.eager_seconds * scale}, {a.seconds * scale, group_class(f.number - 1)}});
  number_cell(out, speedup_text(a), "strong");
  {
    const auto cell = out.element("td");
    write_origin(out, a.measured);
  }
  number_cell(out, resource_text(f, "registers", number_text));
  const bool spills = std::any_of(f.kernels.begin(), f.kernels.end(), [](const Json* kernel) {
    return number_at(*kernel, "spills").value_or(0) > 0;
  });
  number_cell(out, resource_text(f, "spills", number_text), spills ? "alarm" : "");
  number_cell(out, resource_text(f, "shared", bytes_text));
}

void write_table(Markup& out, const ReportContext& c) {
  double longest = 0;
  for (const ChosenFragment& f : c.chosen) {
    longest = std::max({longest, f.attempt->eager_seconds, f.attempt->seconds});
  }
  const auto scroll = out.element("div", {{"class", "scroll"}});
  const auto table = out.element("table");
  write_header_row(out, {{""},
                         {"operators fused"},
                         {"steps"},
                         {"family"},
                         {"eager", true},
                         {"ours", true},
                         {""},
                         {"gain", true},
                         {"times"},
                         {"registers", true},
                         {"spills", true},
                         {"shared memory", true}});
  const auto body = out.element("tbody");
  for (const ChosenFragment& f : c.chosen) write_fragment_row(out, c, f, longest);
}

// The PyTorch steps that a fragment stands for, as commented code.
std::string replaced_steps(const ReportContext& c, const ChosenFragment& f) {
  std::string out;
  for (int step : f.steps) {
    std::string line = c.text.line(step), shapes;
    std::replace(line.begin(), line.end(), '\n', ' ');
    for (ValueId id : step_defines(c.text.program().steps[step])) {
      shapes += (shapes.empty() ? "" : ", ") + shape_text(c.text.program().values[id]);
    }
    out += line + "\n    # " + shapes + ", step " + std::to_string(step) + "\n";
  }
  return out;
}

// `shown_at` remembers by source where a kernel was printed: repeated layers share kernels.
void write_fragment(Markup& out, const ReportContext& c, const ChosenFragment& f,
                    std::map<std::string, int>& shown_at) {
  const Attempt& a = *f.attempt;
  const auto article = out.element("article", {{"id", "fragment-" + std::to_string(f.number)},
                                               {"class", "fragment " + group_class(f.number - 1)}});
  {
    const auto title = out.element("h3");
    out.leaf("span", std::to_string(f.number), {{"class", "chip"}});
    out.text(" " + c.operators(f.steps));
  }
  {
    const auto meta = out.element("p", {{"class", "caption"}});
    out.text((a.family.empty() ? "" : a.family + " · ") + time_text(a.eager_seconds) + " eager → " +
             time_text(a.seconds) + " ours, " + speedup_text(a) + " ");
    write_origin(out, a.measured);
    if (a.from_store) out.text(" · from an earlier run");
  }
  const auto pair = out.element("div", {{"class", "pair"}});
  {
    const auto left = out.element("div");
    out.leaf("h4", count_text(f.steps.size(), "PyTorch step"));
    {
      const auto code = out.element("pre", {{"class", "code wrap"}});
      write_python(out, replaced_steps(c, f));
    }
    if (!a.plan.empty()) {
      out.leaf("h4", "Plan");
      out.leaf("pre", a.plan, {{"class", "wrap"}});
    }
  }
  const auto right = out.element("div");
  out.leaf("h4", "Triton in their place");
  const auto [first, fresh] = shown_at.try_emplace(a.source, f.number);
  if (fresh) {
    write_source(out, "source", a.source, true);
  } else {
    const auto same = out.element("p", {{"class", "caption"}});
    out.text("The same source as ");
    out.leaf("a", "fragment " + std::to_string(first->second),
             {{"href", "#fragment-" + std::to_string(first->second)}});
  }
}

}  // namespace

void write_fragments(Markup& out, const ReportContext& c) {
  const auto section = out.element("section", {{"id", "fragments"}});
  out.leaf("h2", "Fragments replaced");
  if (c.chosen.empty()) {
    out.leaf("p", "Nothing was replaced.", {{"class", "caption"}});
    return;
  }
  write_table(out, c);
  std::map<std::string, int> shown_at;
  for (const ChosenFragment& f : c.chosen) write_fragment(out, c, f, shown_at);
}

}  // namespace kw
