#include "runtime/protocol.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "formats/base/error.h"

namespace kw {
namespace {

// Through text, as it travels.
Json sent(const Json& json) { return Json::parse(json.dump()); }

double any_number(std::mt19937_64& random) {
  switch (random() % 6) {
    case 0:
      return std::numeric_limits<double>::infinity();
    case 1:
      return -std::numeric_limits<double>::infinity();
    case 2:
      return std::numeric_limits<double>::quiet_NaN();
    case 3:
      return 0;
    default:
      return std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 200) - 100);
  }
}

bool same(double a, double b) { return (std::isnan(a) && std::isnan(b)) || a == b; }

TrialReport any_trial_report(std::mt19937_64& random) {
  TrialReport report;
  report.status = ReplyStatus::kOk;
  report.difference = "output 0";
  for (size_t i = random() % 4; i > 0; --i) {
    OutputErrors errors;
    errors.dtype = "float32";
    errors.same_meta = random() % 2;
    errors.meta_difference = "shape [2] instead of [3]";
    errors.exact_equal = random() % 2;
    errors.nonfinite_mismatch = static_cast<int64_t>(random() >> 1);
    errors.int_mismatch = static_cast<int64_t>(random() >> 1);
    errors.elements = static_cast<int64_t>(random() >> 1);
    errors.finite = static_cast<int64_t>(random() >> 1);
    errors.lost = static_cast<int64_t>(random() >> 1);
    errors.integers = static_cast<int64_t>(random() >> 1);
    errors.integers_wrong = static_cast<int64_t>(random() >> 1);
    errors.section_dim = static_cast<int64_t>(random() % 5) - 1;
    errors.section_index = static_cast<int64_t>(random() >> 1);
    errors.reference_finite = random() % 2;
    for (double* x :
         {&errors.reference_rms, &errors.reference_worst, &errors.candidate_rms,
          &errors.candidate_worst, &errors.oracle_rms, &errors.oracle_max, &errors.section_excess,
          &errors.section_error, &errors.section_allowed, &errors.allclose_worst}) {
      *x = any_number(random);
    }
    report.outputs.push_back(errors);
  }
  for (bool* finding : {&report.inputs_unchanged, &report.guards_intact, &report.buffers_equal,
                        &report.passes_zeros, &report.passes_stale, &report.no_launch_changes}) {
    *finding = random() % 2;
  }
  report.idle_launches = {static_cast<int>(random() % 100), 7};
  report.copies = {{3}, {{4, 17, -0.25, 0.5}, {5, 2, 1, 0}}};
  report.seconds = 1.5;
  report.phases = {{"draw", 0.25}, {"compare", 1}};
  report.peak_bytes = static_cast<int64_t>(random() >> 1);
  return report;
}

TEST(Protocol, TrialRequestsKeepEverything) {
  for (int v = 0; v <= static_cast<int>(Variation::kOutliers); ++v) {
    const TrialRequest request{.reference = 3,
                               .candidate = 4,
                               .seed = ~uint64_t{0} - 1,
                               .variation = static_cast<Variation>(v),
                               .only = v - 1,
                               .fixed = v % 2 == 0 ? std::vector<int>{0, 7} : std::vector<int>(),
                               .check_noop = v % 2 == 1,
                               .each_launch = v % 3 == 0,
                               .unwritten = static_cast<Unwritten>(v % 4),
                               .guards = v % 5 == 0};
    const Json json = sent(to_json(request));
    const TrialRequest back = trial_request_from_json(JsonReader(json, ""));
    EXPECT_EQ(back.reference, 3);
    EXPECT_EQ(back.candidate, 4);
    EXPECT_EQ(back.seed, ~uint64_t{0} - 1);
    EXPECT_EQ(back.variation, request.variation);
    EXPECT_EQ(back.only, request.only);
    EXPECT_EQ(back.fixed, request.fixed);
    EXPECT_EQ(back.check_noop, request.check_noop);
    EXPECT_EQ(back.unwritten, request.unwritten);
    EXPECT_EQ(back.guards, request.guards);
    EXPECT_EQ(back.each_launch, request.each_launch);
  }
}

TEST(Protocol, TrialReportsKeepEverything) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) {
    const TrialReport report = any_trial_report(random);
    const Json json = sent(to_json(report));
    const TrialReport back = trial_report_from_json(JsonReader(json, ""));
    EXPECT_EQ(to_json(back), to_json(report));
    ASSERT_EQ(back.outputs.size(), report.outputs.size());
    for (size_t o = 0; o < report.outputs.size(); ++o) {
      const OutputErrors &a = report.outputs[o], &b = back.outputs[o];
      EXPECT_EQ(a.nonfinite_mismatch, b.nonfinite_mismatch);
      EXPECT_EQ(a.int_mismatch, b.int_mismatch);
      EXPECT_EQ(a.finite, b.finite);
      EXPECT_EQ(a.lost, b.lost);
      EXPECT_EQ(a.integers, b.integers);
      EXPECT_EQ(a.integers_wrong, b.integers_wrong);
      EXPECT_TRUE(same(a.reference_rms, b.reference_rms));
      EXPECT_TRUE(same(a.candidate_worst, b.candidate_worst));
      EXPECT_TRUE(same(a.allclose_worst, b.allclose_worst));
    }
    EXPECT_EQ(back.difference, report.difference);
    EXPECT_EQ(back.idle_launches, report.idle_launches);
    EXPECT_EQ(back.copies, report.copies);
    EXPECT_EQ(back.passes_stale, report.passes_stale);
    EXPECT_EQ(back.peak_bytes, report.peak_bytes);
    EXPECT_EQ(back.phases, report.phases);
  }
}

TEST(Protocol, BareRunsKeepEverything) {
  const Json request = Json::parse(to_json(BareRequest{3, 5, UINT64_MAX}).dump());
  const BareRequest back = bare_request_from_json(JsonReader(request, ""));
  EXPECT_EQ(back.reference, 3);
  EXPECT_EQ(back.candidate, 5);
  EXPECT_EQ(back.seed, UINT64_MAX);
}

TEST(Protocol, ExaminationsKeepEverything) {
  const Json request = to_json(ExamineRequest{3, UINT64_MAX});
  const ExamineRequest back = examine_request_from_json(JsonReader(request, ""));
  EXPECT_EQ(back.task, 3);
  EXPECT_EQ(back.seed, UINT64_MAX);
  ExamineReport report;
  report.status = ReplyStatus::kOk;
  report.outputs = {{"float32", 7, 1, 2.5, 3.5, 0.5, 1e-7, 2e-7}, {"int64", 1, 0, 0, 0, 0, 0, 0.5}};
  report.changes = {{1, std::numeric_limits<double>::infinity()}, {0, 0.25}};
  report.seconds = 1.5;
  report.peak_bytes = 1 << 20;
  const Json json = Json::parse(to_json(report).dump());
  const ExamineReport reread = examine_report_from_json(JsonReader(json, ""));
  EXPECT_EQ(to_json(reread), json);
  EXPECT_EQ(reread.changes, report.changes);
  EXPECT_EQ(reread.outputs.at(0).neighbour, 2e-7);
  EXPECT_EQ(reread.outputs.at(1).dtype, "int64");
  Json short_of_one = json;
  short_of_one["changes"][1].erase(1);
  EXPECT_THROW(examine_report_from_json(JsonReader(short_of_one, "")), InputError);
}

TEST(Protocol, TimeRequestsAndReportsKeepEverything) {
  TimeRequest request;
  request.tasks = {1, 5};
  request.packages = {{"a.pt2", false}, {"b.pt2", true}};
  request.rounds = 9;
  request.own_inputs = true;
  request.seed = 77;
  request.max_seconds = 2.5;
  request.width = 0.125;
  Json json = sent(to_json(request));
  const TimeRequest back = time_request_from_json(JsonReader(json, ""));
  EXPECT_EQ(back.tasks, request.tasks);
  EXPECT_EQ(back.packages, request.packages);
  EXPECT_EQ(back.rounds, 9);
  EXPECT_EQ(back.input_sets, request.input_sets);
  EXPECT_TRUE(back.own_inputs);
  EXPECT_EQ(back.seed, 77u);
  EXPECT_EQ(back.max_seconds, 2.5);
  EXPECT_EQ(back.width, 0.125);

  TimeReport report;
  report.status = ReplyStatus::kOk;
  report.device_ms = {{1, 2}, {}};
  report.wall_ms = {{3}, {4.25}};
  report.outputs_checked = {true, false};
  report.processor_mhz = {1980, 1755.5};
  report.throttled_rounds = 3;
  report.phases = {{"timing: runs", 0.5}};
  json = sent(to_json(report));
  const TimeReport reread = time_report_from_json(JsonReader(json, ""));
  EXPECT_EQ(reread.device_ms, report.device_ms);
  EXPECT_EQ(reread.wall_ms, report.wall_ms);
  EXPECT_EQ(reread.outputs_checked, report.outputs_checked);
  EXPECT_EQ(reread.processor_mhz, report.processor_mhz);
  EXPECT_EQ(reread.throttled_rounds, 3);
  EXPECT_EQ(reread.phases, report.phases);
}

TEST(Protocol, EveryOtherStatusCarriesItsMessage) {
  for (const auto status : {ReplyStatus::kFailed, ReplyStatus::kNotJudged, ReplyStatus::kDied}) {
    const Json json = {{"status", status_name(status)}, {"message", "why"}, {"fault", "candidate"}};
    EXPECT_EQ(trial_report_from_json(JsonReader(json, "")).message, "why");
    EXPECT_EQ(trial_report_from_json(JsonReader(json, "")).fault, Side::kCandidate);
    EXPECT_EQ(time_report_from_json(JsonReader(json, "")).status, status);
  }
}

TEST(Protocol, AMessageIsOneLineWithoutTheStackOfPyTorch) {
  const Json json = {
      {"status", "failed"},
      {"message",
       "bad\nshape\nException raised from add at /torch/add.cpp:3\nframe #0: c10::Error"}};
  EXPECT_EQ(reply_from_json(JsonReader(json, "")).message, "bad shape");
}

// The wire carries words alone: a lack of memory is known by its message, in both directions.
TEST(Protocol, ALackOfMemoryIsACause) {
  const auto cause = [](const char* status, const char* message) {
    return reply_from_json(JsonReader({{"status", status}, {"message", message}}, "")).cause;
  };
  EXPECT_EQ(cause("not-judged", "reference: out of memory"), Cause::kOutOfMemory);
  EXPECT_EQ(cause("not-judged", "somebody is timed"), Cause::kNone);
  EXPECT_EQ(cause("failed", "out of memory"), Cause::kNone);
  EXPECT_EQ(cause("ok", ""), Cause::kNone);
  const Reply lacking{ReplyStatus::kNotJudged, Cause::kOutOfMemory, "out of memory"};
  const Json json = to_json(lacking);
  EXPECT_EQ(json, Json({{"status", "not-judged"}, {"message", "out of memory"}}));
  EXPECT_EQ(reply_from_json(JsonReader(json, "")).cause, Cause::kOutOfMemory);
}

TEST(Protocol, WordsItDoesNotKnowAreRefused) {
  const Json status = {{"status", "fine"}, {"message", "why"}};
  EXPECT_THROW(reply_from_json(JsonReader(status, "")), InputError);
  const Json side = {{"status", "failed"}, {"message", "why"}, {"fault", "nobody"}};
  EXPECT_THROW(trial_report_from_json(JsonReader(side, "")), InputError);
}

// Each member of a good document is taken away, then given a value of every wrong type.
template <class Parse>
void expect_strict(const Json& good, Parse parse) {
  ASSERT_NO_THROW(parse(JsonReader(good, "")));
  for (const auto& [key, value] : good.items()) {
    if (key == "message") continue;  // of no use in a good reply
    Json bad = good;
    bad.erase(key);
    EXPECT_THROW(parse(JsonReader(bad, "")), InputError) << "without " << key;
    for (const Json& wrong : {Json(nullptr), Json(Json::object()), Json("?"), Json(-1)}) {
      if (wrong.is_object() && value.is_object()) continue;
      if (key == "only" && wrong == -1) continue;  // all inputs
      bad = good;
      bad[key] = wrong;
      EXPECT_THROW(parse(JsonReader(bad, "")), InputError) << key << " = " << wrong;
    }
  }
  EXPECT_THROW(parse(JsonReader(Json::array(), "")), InputError);
}

TEST(Protocol, ParsersAreStrict) {
  expect_strict(to_json(TrialRequest{}), trial_request_from_json);
  TimeRequest time;
  time.tasks = {1};
  expect_strict(to_json(time), time_request_from_json);
  TimeReport times;
  times.status = ReplyStatus::kOk;
  times.device_ms = times.wall_ms = {{1}};
  times.outputs_checked = {true};
  expect_strict(to_json(times), time_report_from_json);
  expect_strict(to_json(ExamineRequest{}), examine_request_from_json);
  expect_strict(to_json(BareRequest{}), bare_request_from_json);
  ExamineReport examined;
  examined.status = ReplyStatus::kOk;
  examined.outputs = {ExaminedOutput{}};
  examined.changes = {{1}};
  expect_strict(to_json(examined), examine_report_from_json);

  TrialReport report;
  report.status = ReplyStatus::kOk;
  report.outputs = {OutputErrors{}};
  const Json trial = to_json(report);
  ASSERT_NO_THROW(trial_report_from_json(JsonReader(trial, "")));
  for (const auto& [key, value] : trial["outputs"][0].items()) {
    Json bad = trial;
    bad["outputs"][0].erase(key);
    EXPECT_THROW(trial_report_from_json(JsonReader(bad, "")), InputError) << key;
  }
  for (const auto& [key, value] : trial.items()) {
    if (key == "message" || key == "fault") continue;  // of no use in a good reply
    Json bad = trial;
    bad.erase(key);
    EXPECT_THROW(trial_report_from_json(JsonReader(bad, "")), InputError) << key;
  }
}

}  // namespace
}  // namespace kw
