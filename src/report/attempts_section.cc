// What else was tried: proposals that were rejected, by stage and reason, and proposals that were
// right but not part of the result. A proposal without a reason was never judged: an earlier one
// for its fragment was right, or the search ended.
#include <algorithm>
#include <array>
#include <map>

#include "eval/run/figures.h"
#include "report/sections.h"

namespace kw {
namespace {

constexpr size_t kMostRejections = 200, kMostSlower = 200, kMostExamples = 4;

// Equal reasons of one stage.
struct Rejection {
  std::string reason;
  size_t count = 0;
  std::vector<const Attempt*> examples;
};
using Rejections = std::vector<Rejection>;

constexpr std::array kStages = {Stage::kLoad,     Stage::kRecord,  Stage::kCompile,
                                Stage::kCoverage, Stage::kCorrect, Stage::kTime};

// Neither right nor wrong, as far as anybody knows.
bool is_unjudged(const Attempt& attempt) { return attempt.status == AttemptStatus::kNotJudged; }

bool is_rejected(const Attempt& attempt) { return attempt.status == AttemptStatus::kRejected; }

// "stage: reason" taken apart; -1 and the whole text when it names no stage.
std::pair<int, std::string> take_apart(const std::string& text) {
  for (size_t i = 0; i < kStages.size(); ++i) {
    const std::string prefix = std::string(stage_name(kStages[i])) + ": ";
    if (text.starts_with(prefix)) return {static_cast<int>(i), text.substr(prefix.size())};
  }
  return {-1, text};
}

// By stage, most frequent reasons first. Stage -1 (none) comes last under the key kStages.size().
std::map<size_t, Rejections> collect(const std::vector<Attempt>& attempts) {
  std::map<size_t, std::map<std::string, Rejection>> found;
  for (const Attempt& attempt : attempts) {
    if (!is_rejected(attempt)) continue;
    const auto [stage, reason] = take_apart(attempt.reason);
    Rejection& entry = found[stage < 0 ? kStages.size() : static_cast<size_t>(stage)][reason];
    entry.reason = reason;
    ++entry.count;
    if (entry.examples.size() < kMostExamples) entry.examples.push_back(&attempt);
  }
  std::map<size_t, Rejections> out;
  for (auto& [stage, by_reason] : found) {
    for (auto& [reason, entry] : by_reason) out[stage].push_back(std::move(entry));
    std::stable_sort(out[stage].begin(), out[stage].end(),
                     [](const auto& a, const auto& b) { return a.count > b.count; });
  }
  return out;
}

std::string more_text(size_t hidden) { return "and " + std::to_string(hidden) + " more"; }

void write_stage(Markup& out, const ReportContext& c, const std::string& name,
                 const Rejections& rejections) {
  size_t total = 0;
  for (const Rejection& r : rejections) total += r.count;
  const auto details = out.element("details");
  out.leaf("summary", "rejected at " + name + ": " + std::to_string(total));
  const auto scroll = out.element("div", {{"class", "scroll"}});
  const auto table = out.element("table");
  write_header_row(out, {{"times", true}, {"reason"}, {"proposals"}});
  const auto body = out.element("tbody");
  for (size_t i = 0; i < std::min(rejections.size(), kMostRejections); ++i) {
    const Rejection& r = rejections[i];
    const auto row = out.element("tr");
    out.leaf("td", std::to_string(r.count), {{"class", "number"}});
    out.leaf("td", r.reason, {{"class", "reason"}});
    const auto cell = out.element("td");
    for (const Attempt* a : r.examples) {
      const auto line = out.element("div", {{"title", a->plan}});
      out.text(ellipsis(c.operators(a->steps), 60) + " ");
      out.leaf("span",
               (a->family.empty() ? "" : a->family + ", ") + "steps " +
                   ellipsis(steps_text(a->steps), 60),
               {{"class", "quiet"}});
    }
    if (r.count > r.examples.size()) {
      out.leaf("div", more_text(r.count - r.examples.size()), {{"class", "quiet"}});
    }
  }
  if (rejections.size() > kMostRejections) {
    const auto row = out.element("tr");
    out.leaf("td", more_text(rejections.size() - kMostRejections) + " reasons", {{"colspan", "3"}});
  }
}

void write_slower_row(Markup& out, const ReportContext& c, const Attempt& a) {
  const auto row = out.element("tr");
  const std::string operators = c.operators(a.steps);
  out.leaf("td", ellipsis(operators, 60), {{"title", operators}});
  out.leaf("td", ellipsis(steps_text(a.steps), 40), {{"class", "quiet"}});
  out.leaf("td", a.family, {{"title", a.plan}});
  out.leaf("td", time_text(a.eager_seconds), {{"class", "number"}});
  out.leaf("td", time_text(a.seconds), {{"class", "number"}});
  out.leaf("td",
           a.seconds > 0 && a.eager_seconds > 0 ? ratio_text(a.eager_seconds / a.seconds) : "–",
           {{"class", "number"}});
  {
    const auto cell = out.element("td");
    write_origin(out, a.measured);
  }
  out.leaf("td", a.reason.empty() ? "others cover its steps better" : a.reason,
           {{"class", "reason"}});
}

void write_slower(Markup& out, const ReportContext& c, const std::vector<const Attempt*>& slower) {
  if (slower.empty()) return;
  const auto details = out.element("details");
  out.leaf("summary", "right, but not part of the result: " + std::to_string(slower.size()));
  const auto scroll = out.element("div", {{"class", "scroll"}});
  const auto table = out.element("table");
  write_header_row(out, {{"operators fused"},
                         {"steps"},
                         {"family"},
                         {"eager", true},
                         {"ours", true},
                         {"gain", true},
                         {"times"},
                         {"why not"}});
  const auto body = out.element("tbody");
  for (size_t i = 0; i < std::min(slower.size(), kMostSlower); ++i) {
    write_slower_row(out, c, *slower[i]);
  }
  if (slower.size() > kMostSlower) {
    const auto row = out.element("tr");
    out.leaf("td", more_text(slower.size() - kMostSlower), {{"colspan", "8"}});
  }
}

}  // namespace

void write_attempts(Markup& out, const ReportContext& c) {
  const auto section = out.element("section", {{"id", "attempts"}});
  out.leaf("h2", "What else was tried");
  std::vector<const Attempt*> slower;
  size_t rejected = 0, unjudged = 0;
  for (const Attempt& a : c.result.attempts) {
    if (a.accepted() && !a.chosen) slower.push_back(&a);
    rejected += is_rejected(a) ? 1 : 0;
    unjudged += is_unjudged(a) ? 1 : 0;
  }
  out.leaf(
      "p",
      count_text(c.result.attempts.size(), "proposal") + ": " + std::to_string(c.chosen.size()) +
          " chosen, " + std::to_string(slower.size()) + " right but not chosen, " +
          std::to_string(rejected) + " rejected" +
          (unjudged ? ", " + std::to_string(unjudged) + " not judged, for want of need or of time."
                    : "."),
      {{"class", "caption"}});
  for (const auto& [stage, rejections] : collect(c.result.attempts)) {
    write_stage(out, c,
                stage < kStages.size() ? std::string(stage_name(kStages[stage])) : "other points",
                rejections);
  }
  write_slower(out, c, slower);
}

}  // namespace kw
