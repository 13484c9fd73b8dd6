#include "runtime/protocol.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "program/inputs/sources.h"
#include "worker/process/process.h"

namespace kw {
namespace {

constexpr size_t kMaxOutputs = 4096;
constexpr size_t kMaxTasks = 4096;
constexpr int kMaxRounds = 1'000'000;
constexpr int kMaxPlaces = 1'000'000;

constexpr std::array<std::string_view, 22> kVariationNames = {
    "plain",         "scale-down", "scale-up", "negative",   "mixed-signs",   "affine",
    "integers",      "uneven",     "zeros",    "blank",      "parameters",    "used",
    "not-finite",    "far",        "constant", "range-ends", "named-numbers", "shuffled",
    "other-numbers", "ties",       "crossed",  "outliers"};

constexpr std::array<std::string_view, 4> kUnwrittenNames = {"poison", "numbers", "zeros", "large"};
constexpr std::array<std::string_view, 4> kStatusNames = {"ok", "failed", "not-judged", "died"};
constexpr std::array<std::string_view, 3> kSideNames = {"", "reference", "candidate"};
constexpr std::string_view kOutOfMemory = "out of memory";  // how a message of Cause ends

template <size_t kCount>
size_t index_of(const std::array<std::string_view, kCount>& names, const JsonReader& in) {
  const size_t index = std::ranges::find(names, in.string()) - names.begin();
  if (index == kCount) in.fail("unknown name");
  return index;
}

// JSON has no infinities: they are tagged as in task.md.
Json number_to_json(double x) {
  if (std::isnan(x)) return {{"f", "nan"}};
  if (std::isinf(x)) return {{"f", x > 0 ? "inf" : "-inf"}};
  return x;
}

double number_from_json(const JsonReader& in) {
  if (!in.raw().is_object()) return in.number();
  const std::string text = in.at("f").string();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  in.at("f").fail("expected \"inf\", \"-inf\" or \"nan\"");
}

uint64_t seed_from_json(const JsonReader& in) {
  if (!in.raw().is_number_unsigned()) in.fail("expected a number of 64 bits");
  return in.raw().get<uint64_t>();
}

int id_from_json(const JsonReader& in) { return static_cast<int>(in.integer(0, INT32_MAX)); }

std::vector<JsonReader> items_up_to(const JsonReader& in, size_t most) {
  auto items = in.items();
  if (items.size() > most) in.fail("too many elements");
  return items;
}

Json phases_to_json(const std::map<std::string, double>& phases) {
  Json out = Json::object();
  for (const auto& [phase, seconds] : phases) out[phase] = number_to_json(seconds);
  return out;
}

std::map<std::string, double> phases_from_json(const JsonReader& in) {
  std::map<std::string, double> out;
  for (const auto& [phase, seconds] : in.members()) out[phase] = number_from_json(seconds);
  return out;
}

void check_kind(const JsonReader& in, std::string_view kind) {
  if (in.at("kind").string() != kind) {
    in.at("kind").fail("expected \"" + std::string(kind) + "\"");
  }
}

// One list of members for both directions, so that they cannot come apart.
template <class Errors, class Visit>
void for_each_number(Errors& errors, Visit visit) {
  visit("reference_rms", errors.reference_rms);
  visit("reference_worst", errors.reference_worst);
  visit("candidate_rms", errors.candidate_rms);
  visit("candidate_worst", errors.candidate_worst);
  visit("near_rms", errors.near_rms);
  visit("near_worst", errors.near_worst);
  visit("oracle_rms", errors.oracle_rms);
  visit("oracle_max", errors.oracle_max);
  visit("section_excess", errors.section_excess);
  visit("section_error", errors.section_error);
  visit("section_allowed", errors.section_allowed);
  visit("allclose_worst", errors.allclose_worst);
}

template <class Report, class Visit>
void for_each_finding(Report& report, Visit visit) {
  visit("inputs_unchanged", report.inputs_unchanged);
  visit("guards_intact", report.guards_intact);
  visit("buffers_equal", report.buffers_equal);
  visit("passes_zeros", report.passes_zeros);
  visit("passes_stale", report.passes_stale);
  visit("no_launch_changes", report.no_launch_changes);
}

Json to_json(const OutputErrors& errors) {
  Json out = {{"dtype", errors.dtype},
              {"same_meta", errors.same_meta},
              {"meta_difference", errors.meta_difference},
              {"exact_equal", errors.exact_equal},
              {"nonfinite_mismatch", errors.nonfinite_mismatch},
              {"int_mismatch", errors.int_mismatch},
              {"elements", errors.elements},
              {"finite", errors.finite},
              {"lost", errors.lost},
              {"integers", errors.integers},
              {"integers_wrong", errors.integers_wrong},
              {"section_dim", errors.section_dim},
              {"section_index", errors.section_index},
              {"reference_finite", errors.reference_finite}};
  for_each_number(errors, [&](const char* name, double x) { out[name] = number_to_json(x); });
  return out;
}

OutputErrors output_errors_from_json(const JsonReader& in) {
  OutputErrors errors;
  errors.dtype = in.at("dtype").string();
  errors.same_meta = in.at("same_meta").boolean();
  errors.meta_difference = in.at("meta_difference").string();
  errors.exact_equal = in.at("exact_equal").boolean();
  errors.nonfinite_mismatch = in.at("nonfinite_mismatch").integer(0, INT64_MAX);
  errors.int_mismatch = in.at("int_mismatch").integer(0, INT64_MAX);
  errors.elements = in.at("elements").integer(0, INT64_MAX);
  errors.finite = in.at("finite").integer(0, INT64_MAX);
  errors.lost = in.at("lost").integer(0, INT64_MAX);
  errors.integers = in.at("integers").integer(0, INT64_MAX);
  errors.integers_wrong = in.at("integers_wrong").integer(0, INT64_MAX);
  errors.section_dim = in.at("section_dim").integer(-1, INT64_MAX);
  errors.section_index = in.at("section_index").integer(-1, INT64_MAX);
  errors.reference_finite = in.at("reference_finite").boolean();
  for_each_number(errors, [&](const char* name, double& x) { x = number_from_json(in.at(name)); });
  return errors;
}

Json series_to_json(const std::vector<std::vector<double>>& series) {
  Json out = Json::array();
  for (const auto& row : series) {
    out.push_back(Json::array());
    for (double x : row) out.back().push_back(number_to_json(x));
  }
  return out;
}

std::vector<std::vector<double>> series_from_json(const JsonReader& in) {
  std::vector<std::vector<double>> series;
  for (const JsonReader& row : items_up_to(in, kMaxTasks)) {
    series.emplace_back();
    for (const JsonReader& x : items_up_to(row, kMaxRounds)) {
      series.back().push_back(number_from_json(x));
    }
  }
  return series;
}

// Reads what all replies have in common. Returns whether the rest of the reply follows.
bool read_status(const JsonReader& in, Reply& reply) {
  reply = reply_from_json(in);
  return reply.ok();
}

ReplyStatus status_from_json(const JsonReader& in) {
  const std::string name = in.string();
  const auto found = std::find(kStatusNames.begin(), kStatusNames.end(), name);
  if (found == kStatusNames.end()) {
    in.fail("expected \"ok\", \"failed\", \"not-judged\" or \"died\"");
  }
  return static_cast<ReplyStatus>(found - kStatusNames.begin());
}

Side side_from_json(const JsonReader& in) {
  const std::string name = in.string();
  const auto found = std::find(kSideNames.begin(), kSideNames.end(), name);
  if (found == kSideNames.end()) in.fail("expected \"\", \"reference\" or \"candidate\"");
  return static_cast<Side>(found - kSideNames.begin());
}

}  // namespace

std::string_view status_name(ReplyStatus status) {
  return kStatusNames.at(static_cast<size_t>(status));
}

std::string_view side_name(Side side) { return kSideNames.at(static_cast<size_t>(side)); }

Json to_json(const Reply& reply) {
  return {{"status", status_name(reply.status)}, {"message", reply.message}};
}

Reply reply_from_json(const JsonReader& in) {
  Reply reply;
  reply.status = status_from_json(in.at("status"));
  if (reply.ok()) return reply;
  // An error of PyTorch may have its C++ stack behind it.
  const std::string& message = in.at("message").string();
  reply.message = one_line(message.substr(0, message.find("\nException raised from ")), 2000);
  if (reply.status == ReplyStatus::kNotJudged && reply.message.ends_with(kOutOfMemory)) {
    reply.cause = Cause::kOutOfMemory;
  }
  return reply;
}

std::string_view variation_name(Variation variation) {
  return kVariationNames.at(static_cast<size_t>(variation));
}

std::optional<SourceChange> source_change(Variation variation) {
  switch (variation) {
    case Variation::kEnds:
      return SourceChange::kEnds;
    case Variation::kNamed:
      return SourceChange::kNamed;
    case Variation::kShuffled:
      return SourceChange::kShuffle;
    case Variation::kOther:
      return SourceChange::kOther;
    default:
      return std::nullopt;
  }
}

bool is_far(Variation variation) {
  return variation == Variation::kFar || variation == Variation::kOutliers;
}

bool is_edge(Variation variation) {
  return variation == Variation::kZeros || variation == Variation::kBlank ||
         variation == Variation::kNotFinite || is_far(variation) ||
         variation == Variation::kConstant;
}

Json to_json(const TrialRequest& request) {
  return {{"kind", "trial"},
          {"reference", request.reference},
          {"candidate", request.candidate},
          {"seed", request.seed},
          {"variation", variation_name(request.variation)},
          {"only", request.only},
          {"fixed", request.fixed},
          {"check_noop", request.check_noop},
          {"each_launch", request.each_launch},
          {"unwritten", kUnwrittenNames.at(static_cast<size_t>(request.unwritten))},
          {"neighbours", request.neighbours},
          {"guards", request.guards}};
}

TrialRequest trial_request_from_json(const JsonReader& in) {
  check_kind(in, "trial");
  TrialRequest request;
  request.reference = id_from_json(in.at("reference"));
  request.candidate = id_from_json(in.at("candidate"));
  request.seed = seed_from_json(in.at("seed"));
  request.variation = static_cast<Variation>(index_of(kVariationNames, in.at("variation")));
  request.only = static_cast<int>(in.at("only").integer(-1, INT32_MAX));
  for (const JsonReader& place : items_up_to(in.at("fixed"), kMaxPlaces)) {
    request.fixed.push_back(static_cast<int>(place.integer(0, INT32_MAX)));
  }
  request.check_noop = in.at("check_noop").boolean();
  request.each_launch = in.at("each_launch").boolean();
  request.unwritten = static_cast<Unwritten>(index_of(kUnwrittenNames, in.at("unwritten")));
  request.neighbours = in.at("neighbours").boolean();
  request.guards = in.at("guards").boolean();
  return request;
}

Json to_json(const TrialReport& report) {
  Json out = to_json(static_cast<const Reply&>(report));
  out["fault"] = side_name(report.fault);
  if (!report.ok()) return out;
  out["difference"] = report.difference;
  out["outputs"] = Json::array();
  for (const OutputErrors& errors : report.outputs) out["outputs"].push_back(to_json(errors));
  for_each_finding(report, [&](const char* name, bool finding) { out[name] = finding; });
  out["idle_launches"] = report.idle_launches;
  out["others_than_copies"] = report.copies.others;
  out["copies"] = Json::array();
  for (const LaunchCopy& copy : report.copies.copies) {
    out["copies"].push_back(
        {copy.step, copy.source, number_to_json(copy.factor), number_to_json(copy.addend)});
  }
  out["seconds"] = number_to_json(report.seconds);
  out["phases"] = phases_to_json(report.phases);
  out["peak_bytes"] = report.peak_bytes;
  return out;
}

TrialReport trial_report_from_json(const JsonReader& in) {
  TrialReport report;
  const bool ok = read_status(in, report);
  if (in.has("fault"))
    report.fault = side_from_json(in.at("fault"));  // absent from general failures
  if (!ok) return report;
  report.difference = in.at("difference").string();
  for (const JsonReader& errors : items_up_to(in.at("outputs"), kMaxOutputs)) {
    report.outputs.push_back(output_errors_from_json(errors));
  }
  for_each_finding(report,
                   [&](const char* name, bool& finding) { finding = in.at(name).boolean(); });
  for (const JsonReader& step : in.at("idle_launches").items()) {
    report.idle_launches.push_back(id_from_json(step));
  }
  for (const JsonReader& step : in.at("others_than_copies").items()) {
    report.copies.others.push_back(id_from_json(step));
  }
  for (const JsonReader& entry : in.at("copies").items()) {
    const std::vector<JsonReader> of = entry.items();
    if (of.size() != 4) entry.fail("a copy has a step, a source, a factor and an addend");
    report.copies.copies.push_back({id_from_json(of[0]), id_from_json(of[1]),
                                    number_from_json(of[2]), number_from_json(of[3])});
  }
  report.seconds = number_from_json(in.at("seconds"));
  report.phases = phases_from_json(in.at("phases"));
  report.peak_bytes = in.at("peak_bytes").integer(0, INT64_MAX);
  return report;
}

Json to_json(const TimeRequest& request) {
  Json packages = Json::array();
  for (const PackageRequest& package : request.packages) {
    packages.push_back({{"path", package.path}, {"graph", package.graph}});
  }
  return {{"kind", "time"},
          {"tasks", request.tasks},
          {"packages", packages},
          {"rounds", request.rounds},
          {"input_sets", request.input_sets},
          {"own_inputs", request.own_inputs},
          {"seed", request.seed},
          {"max_seconds", number_to_json(request.max_seconds)},
          {"width", request.width}};
}

TimeRequest time_request_from_json(const JsonReader& in) {
  check_kind(in, "time");
  TimeRequest request;
  for (const JsonReader& task : items_up_to(in.at("tasks"), kMaxTasks)) {
    request.tasks.push_back(id_from_json(task));
  }
  for (const JsonReader& package : items_up_to(in.at("packages"), kMaxTasks)) {
    request.packages.push_back({package.at("path").string(), package.at("graph").boolean()});
  }
  request.rounds = static_cast<int>(in.at("rounds").integer(1, kMaxRounds));
  request.input_sets = static_cast<int>(in.at("input_sets").integer(1, 1024));
  request.own_inputs = in.at("own_inputs").boolean();
  request.seed = seed_from_json(in.at("seed"));
  request.max_seconds = number_from_json(in.at("max_seconds"));
  if (!(request.max_seconds > 0)) in.at("max_seconds").fail("expected a positive number");
  request.width = number_from_json(in.at("width"));
  if (!(request.width >= 0)) in.at("width").fail("expected a number from 0 on");
  return request;
}

Json to_json(const TimeReport& report) {
  Json out = to_json(static_cast<const Reply&>(report));
  if (!report.ok()) return out;
  out["device_ms"] = series_to_json(report.device_ms);
  out["wall_ms"] = series_to_json(report.wall_ms);
  out["outputs_checked"] = report.outputs_checked;
  out["processor_mhz"] = report.processor_mhz;
  out["throttled_rounds"] = report.throttled_rounds;
  out["phases"] = phases_to_json(report.phases);
  return out;
}

TimeReport time_report_from_json(const JsonReader& in) {
  TimeReport report;
  if (!read_status(in, report)) return report;
  report.device_ms = series_from_json(in.at("device_ms"));
  report.wall_ms = series_from_json(in.at("wall_ms"));
  for (const JsonReader& checked : items_up_to(in.at("outputs_checked"), kMaxTasks)) {
    report.outputs_checked.push_back(checked.boolean());
  }
  for (const JsonReader& mhz : items_up_to(in.at("processor_mhz"), kMaxRounds)) {
    report.processor_mhz.push_back(number_from_json(mhz));
  }
  report.throttled_rounds = static_cast<int>(in.at("throttled_rounds").integer(0, kMaxRounds));
  report.phases = phases_from_json(in.at("phases"));
  const size_t count = report.device_ms.size();
  if (report.wall_ms.size() != count || report.outputs_checked.size() != count) {
    in.fail("expected as many wall times and checks as device times");
  }
  return report;
}

Json to_json(const ExamineRequest& request) {
  return {{"kind", "examine"}, {"task", request.task}, {"seed", request.seed}};
}

ExamineRequest examine_request_from_json(const JsonReader& in) {
  check_kind(in, "examine");
  return {id_from_json(in.at("task")), seed_from_json(in.at("seed"))};
}

Json to_json(const BareRequest& request) {
  return {{"kind", "bare"},
          {"reference", request.reference},
          {"candidate", request.candidate},
          {"seed", request.seed}};
}

BareRequest bare_request_from_json(const JsonReader& in) {
  check_kind(in, "bare");
  return {id_from_json(in.at("reference")), id_from_json(in.at("candidate")),
          seed_from_json(in.at("seed"))};
}

Json to_json(const ExamineReport& report) {
  Json out = to_json(static_cast<const Reply&>(report));
  if (!report.ok()) return out;
  out["outputs"] = Json::array();
  for (const ExaminedOutput& output : report.outputs) {
    out["outputs"].push_back({{"dtype", output.dtype},
                              {"elements", output.elements},
                              {"nonfinite", output.nonfinite},
                              {"rms", number_to_json(output.rms)},
                              {"largest", number_to_json(output.largest)},
                              {"redrawn_change", number_to_json(output.redrawn_change)},
                              {"error", number_to_json(output.error)},
                              {"neighbour", number_to_json(output.neighbour)}});
  }
  out["changes"] = series_to_json(report.changes);
  out["seconds"] = number_to_json(report.seconds);
  out["peak_bytes"] = report.peak_bytes;
  return out;
}

ExamineReport examine_report_from_json(const JsonReader& in) {
  ExamineReport report;
  if (!read_status(in, report)) return report;
  for (const JsonReader& each : items_up_to(in.at("outputs"), kMaxOutputs)) {
    ExaminedOutput& output = report.outputs.emplace_back();
    output.dtype = each.at("dtype").string();
    output.elements = each.at("elements").integer(0, INT64_MAX);
    output.nonfinite = each.at("nonfinite").integer(0, INT64_MAX);
    output.rms = number_from_json(each.at("rms"));
    output.largest = number_from_json(each.at("largest"));
    output.redrawn_change = number_from_json(each.at("redrawn_change"));
    output.error = number_from_json(each.at("error"));
    output.neighbour = number_from_json(each.at("neighbour"));
  }
  report.changes = series_from_json(in.at("changes"));
  for (const std::vector<double>& changes : report.changes) {
    if (changes.size() != report.outputs.size()) in.at("changes").fail("expected one an output");
  }
  report.seconds = number_from_json(in.at("seconds"));
  if (!(report.seconds >= 0)) in.at("seconds").fail("expected a number from 0 on");
  report.peak_bytes = in.at("peak_bytes").integer(0, INT64_MAX);
  return report;
}

}  // namespace kw
