// The first screen of the report: what came out, how much faster, and whether that was measured.
#include <string>

#include "eval/run/figures.h"
#include "report/sections.h"

namespace kw {
namespace {

void write_measured_card(Markup& out, const Interval& interval, const std::string& baseline) {
  const bool faster = interval.estimate >= 1;
  // A speedup counts by its lower bound.
  Card card(out, ratio_text(interval.estimate),
            (faster ? "faster than " : "of the speed of ") + baseline,
            interval.lower > 1 ? "good" : "");
  const auto note = out.element("div", {{"class", "note"}});
  out.text("95 % interval " + interval_text(interval) + ", device time ");
  write_origin(out, true);
}

// What a user feels comes first.
void write_called_card(Markup& out, const CallTimes& calls) {
  const double ratio = calls.over_best();
  if (ratio == 0) return;
  Card card(out, ratio_text(ratio),
            (ratio >= 1 ? "faster than " : "of the speed of ") +
                contestant_name(calls.best_other()) + ", as Python calls it",
            ratio > 1 ? "good" : "");
  const auto note = out.element("div", {{"class", "note"}});
  std::string text = "wall time of a call: ours " + time_text(calls.times.at("called").wall) +
                     " by " + (calls.by_graph ? "a CUDA graph" : "launches");
  for (const auto& [name, time] : calls.times) {
    if (name == "called") continue;
    text += ", " + contestant_name(name) + " " + time_text(time.wall);
  }
  out.text(text);
}

void write_speed(Markup& out, const ReportContext& c) {
  const Verdict& verdict = c.result.verdict;
  if (verdict.calls) write_called_card(out, *verdict.calls);
  if (verdict.speedup_eager) {
    write_measured_card(out, *verdict.speedup_eager, "eager PyTorch");
  } else if (!c.chosen.empty() && c.cover_seconds > 0) {
    Card card(out, ratio_text(c.result.reference_seconds / c.cover_seconds),
              "estimated against eager PyTorch", c.result.measured ? "" : "modelled");
    const auto note = out.element("div", {{"class", "note"}});
    if (c.result.measured) {
      out.text("sum of steps measured apart, not timed end to end");
    } else {
      write_origin(out, false);
    }
  }
  if (verdict.speedup_compile) {
    write_measured_card(out, *verdict.speedup_compile, "torch.compile");
  }
}

void write_counts(Markup& out, const ReportContext& c) {
  size_t before = 0, launches = 0, kept = 0;
  const StepText reference(c.result.reference);
  for (size_t i = 0; i < c.result.reference.forward.steps.size(); ++i) {
    before += reference.is_computing(static_cast<int>(i)) ? 1 : 0;
  }
  const StepText optimized(c.result.optimized);
  const auto& steps = c.result.optimized.forward.steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    const bool launch = std::holds_alternative<Launch>(steps[i]);
    launches += launch ? 1 : 0;
    kept += !launch && optimized.is_computing(static_cast<int>(i)) ? 1 : 0;
  }
  Card card(out, std::to_string(before) + " → " + std::to_string(launches + kept),
            "computing steps, before and after");
  out.leaf(
      "div",
      count_text(launches, "Triton launch") + ", " + count_text(kept, "PyTorch operator") + " left",
      {{"class", "note"}});
}

void write_verdict_line(Markup& out, const ReportContext& c) {
  const Verdict& verdict = c.result.verdict;
  const bool judged = !verdict.stages.empty();
  const auto line = out.element("p", {{"class", "verdict"}});
  if (judged) {
    const bool accepted = verdict.outcome == Verdict::Outcome::kAccepted;
    const bool rejected = verdict.outcome == Verdict::Outcome::kRejected;
    out.leaf("span", std::string(outcome_name(verdict.outcome)),
             {{"class", accepted   ? "badge good"
                        : rejected ? "badge bad"
                                   : "badge"}});
  }
  out.text(" " + c.result.message);
}

void write_warnings(Markup& out, const ReportContext& c) {
  const Verdict& verdict = c.result.verdict;
  std::vector<std::string> warnings;
  if (!verdict.reason.empty()) {
    const std::string stage =
        verdict.rejected_at ? "at " + std::string(stage_name(*verdict.rejected_at)) + ": " : "";
    warnings.push_back("The result was " + std::string(outcome_name(verdict.outcome)) + " " +
                       stage + verdict.reason);
  }
  if (verdict.degenerate) {
    warnings.push_back(
        "Degenerate task: zeros, a constant, or the answer to other inputs would "
        "pass the numerical check, so its verdict proves little.");
  }
  if (c.result.stopped_early) {
    warnings.push_back(
        "The search was ended by its budget or by the user before everything was "
        "tried.");
  }
  if (!c.result.measured && !verdict.speedup_eager) {
    warnings.push_back(
        "No GPU was used. Correctness was judged on the CPU; every time on this page "
        "comes from a roofline model of the device: modelled, not measured.");
  }
  if (verdict.calls && verdict.calls->over_best() == 0) {
    warnings.push_back("The result was " + call_times_text(*verdict.calls) + ".");
  }
  for (const std::string& warning : warnings) out.leaf("p", warning, {{"class", "warning"}});
}

}  // namespace

void write_headline(Markup& out, const ReportContext& c) {
  const auto header = out.element("header", {{"id", "headline"}});
  const TaskSource& source = c.result.reference.source;
  const std::string file = source.file.substr(source.file.rfind('/') + 1);
  out.leaf("div", "Kernelwright", {{"class", "brand"}});
  {
    const auto title = out.element("h1");
    out.text(file.empty() ? "Report" : file);
    if (!source.cls.empty()) out.leaf("small", " " + source.cls);
  }
  write_verdict_line(out, c);
  {
    const auto cards = out.element("div", {{"class", "cards"}});
    write_speed(out, c);
    if (!c.result.verdict.stages.empty() && !c.chosen.empty()) {
      Card card(out, percent_text(c.result.verdict.share),
                c.result.changes.empty() ? "of the work is done by Triton kernels"
                                         : "of the work is done by Triton kernels or not needed");
      out.leaf("div", "share of FLOPs or bytes, the larger", {{"class", "note"}});
    }
    write_counts(out, c);
    {
      Card card(out, std::to_string(c.chosen.size()),
                c.chosen.size() == 1 ? "fragment replaced" : "fragments replaced");
      out.leaf("div",
               count_text(c.result.attempts.size(), "proposal") + " in " +
                   time_text(c.result.search_seconds) + " of search, " +
                   time_text(c.result.total_seconds) + " in all",
               {{"class", "note"}});
    }
  }
  write_warnings(out, c);
}

}  // namespace kw
