// The parts of the report page, in their order on the page, and what they share.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/markup/markup.h"
#include "report/markup/step_text.h"
#include "search/optimize.h"

namespace kw {

// A fragment of the final cover. `number` counts from 1 in program order and names it everywhere.
struct ChosenFragment {
  const Attempt* attempt = nullptr;
  int number = 0;
  std::vector<int> steps;            // ascending
  std::vector<const Json*> kernels;  // compile evidence of the kernels its source defines
};

// What the sections draw from. Borrows the result.
struct ReportContext {
  explicit ReportContext(const OptimizeResult& result);

  const OptimizeResult& result;
  StepText text;  // of the base
  std::vector<ChosenFragment> chosen;
  std::vector<int> fragment_of_step;            // number, 0 for none
  double eager_seconds = 0, cover_seconds = 0;  // of the base, without and with the fragments

  const StageResult* stage(
      Stage stage) const;  // the last of that name; nullptr when it did not run
  std::string operators(const std::vector<int>& steps) const;  // "linear → silu → mul"
};

void write_headline(Markup& out, const ReportContext& context);
void write_program(Markup& out, const ReportContext& context);    // graph, eager time by step
void write_fragments(Markup& out, const ReportContext& context);  // table, kernels beside steps
void write_evidence(Markup& out, const ReportContext& context);   // stages, numerics, time
void write_attempts(Markup& out, const ReportContext& context);   // rejected, and right but slower
void write_sources(Markup& out, const ReportContext& context);    // optimized.py, the user's file
void write_environment(Markup& out, const ReportContext& context);

// Writes the page's <head>: `title`, the style sheet and `more_style` after it. Nothing runs on the
// page but `script`, which is a constant of the program and becomes its <script>.
void write_head(Markup& out, const std::string& title, std::string_view more_style = "",
                std::string_view script = "");
// One figure with what it means under it.
class Card {
 public:
  Card(Markup& out, const std::string& figure, const std::string& meaning,
       const std::string& style = "")
      : scope_(out.element("div", {{"class", style.empty() ? "card" : "card " + style}})) {
    out.leaf("div", figure, {{"class", "figure"}});
    out.leaf("div", meaning, {{"class", "meaning"}});
  }

 private:
  Markup::Scope scope_;
};
// Writes "measured", or "modelled, not measured", which accompanies every time.
void write_origin(Markup& out, bool measured);
// A cell with bars below one another; lengths from 0 to 1.
struct Bar {
  double length = 0;
  std::string style = "plain";
};
void write_bars(Markup& out, const std::vector<Bar>& bars);
struct Column {
  std::string title;
  bool number = false;
};
void write_header_row(Markup& out, const std::vector<Column>& columns);
// Collapsible Python source.
void write_source(Markup& out, const std::string& title, const std::string& source, bool open);

}  // namespace kw
