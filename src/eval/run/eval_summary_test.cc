// How samples of a suite count as answers, and what is said of them.
#include "eval/run/eval_summary.h"

#include <gtest/gtest.h>

#include "formats/base/error.h"

namespace kw {
namespace {

SuiteSample sample(Verdict::Outcome outcome, std::optional<Stage> stage = {}, double speedup = 0) {
  SuiteSample out;
  out.verdict.outcome = outcome;
  out.verdict.rejected_at = stage;
  out.in_full = true;
  if (speedup > 0) out.verdict.speedup_eager = Interval{speedup, speedup, speedup};
  return out;
}
constexpr auto kAccepted = Verdict::Outcome::kAccepted;
constexpr auto kRejected = Verdict::Outcome::kRejected;
constexpr auto kNotJudged = Verdict::Outcome::kNotJudged;

SuiteResult result(const std::string& name, std::vector<SuiteSample> samples) {
  SuiteResult out;
  out.model = name;
  out.samples = std::move(samples);
  return out;
}

TaskAnswers answers_of(const SuiteResult& result) {
  const Json line = to_json(result);
  return answers_of(JsonReader(line, "line"));
}

std::string said(const std::vector<SuiteResult>& results, const SuiteOptions& options) {
  std::vector<TaskAnswers> tasks;
  for (const SuiteResult& each : results) tasks.push_back(answers_of(each));
  return summary_text(measure_suite(tasks, options));
}

TEST(EvalSummary, StagesSayHowFarAnAnswerCame) {
  const struct {
    Stage stage;
    bool valid, compiled;
  } rows[] = {{Stage::kLoad, false, false},   {Stage::kRecord, false, false},
              {Stage::kCompile, true, false}, {Stage::kCoverage, true, true},
              {Stage::kCorrect, true, true},  {Stage::kTime, true, true}};
  for (const auto& row : rows) {
    const auto task = answers_of(result("a", {sample(kRejected, row.stage)}));
    const AnswerOutcome& answer = task.answers.at(0);
    EXPECT_TRUE(answer.judged);
    EXPECT_EQ(answer.valid, row.valid);
    EXPECT_EQ(answer.compiled, row.compiled);
    EXPECT_FALSE(answer.correct);
    EXPECT_EQ(answer.reason, stage_name(row.stage));
  }
  const auto task = answers_of(result("a", {sample(kAccepted, {}, 2), sample(kNotJudged)}));
  EXPECT_TRUE(task.answers[0].correct && task.answers[0].valid && task.answers[0].compiled);
  EXPECT_EQ(task.answers[0].over_eager->estimate, 2);
  EXPECT_FALSE(task.answers[1].judged);
}

TEST(EvalSummary, AFirstLookIsNoVerdict) {
  SuiteSample looked_at = sample(kAccepted, {}, 3);
  looked_at.in_full = false;
  EXPECT_FALSE(answers_of(result("a", {looked_at})).answers[0].judged);
}

TEST(EvalSummary, FaultyModelsAreNoTasksAndUnrecordedOnesAreNotJudged) {
  SuiteResult faulty = result("a", {});
  faulty.fault = "a.py:6: reads a value";
  EXPECT_EQ(answers_of(faulty).unusable, "other");
  faulty.fault_code = "host-read";
  EXPECT_EQ(answers_of(faulty).unusable, "host-read");
  faulty.is_workers_fault = true;
  EXPECT_EQ(measure({answers_of(faulty)}).not_judged, 1u);
  const TaskAnswers refused = answers_of(result("refused", {}));
  EXPECT_TRUE(refused.answers.empty() && refused.unusable.empty());
}

TEST(EvalSummary, ModelsThatAreNoTasksAreCountedBesideTheNumbers) {
  SuiteOptions options;
  std::vector<SuiteResult> results = {result("a", {sample(kAccepted, {}, 2)})};
  for (const char* code : {"operator", "operator", "raised"}) {
    results.push_back(result("b" + std::to_string(results.size()), {}));
    results.back().fault = "a.py: no";
    results.back().fault_code = code;
  }
  const std::string text = said(results, options);
  EXPECT_NE(text.find("1 task ("), std::string::npos) << text;
  EXPECT_NE(text.find("unusable        3 (operator 2, raised 1), models that are no tasks"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("pass@1          100 %"), std::string::npos) << text;
  results.erase(results.begin());
  EXPECT_TRUE(said(results, options).starts_with("no task\n")) << said(results, options);
}

TEST(EvalSummary, WhatIsNoLineIsTold) {
  Json line = to_json(result("a", {sample(kAccepted, {}, 2)}));
  for (const char* key : {"model", "outcome", "samples"}) {
    Json broken = line;
    broken.erase(key);
    EXPECT_THROW(answers_of(JsonReader(broken, "line")), InputError) << key;
  }
  line["samples"][0]["rejected_at"] = "lunch";
  EXPECT_THROW(answers_of(JsonReader(line, "line")), InputError);
}

TEST(EvalSummary, SaysWhatIsDefined) {
  const std::vector<SuiteResult> results = {
      result("a", {sample(kAccepted, {}, 4), sample(kRejected, Stage::kCorrect)}),
      result("b", {sample(kRejected, Stage::kCompile), sample(kRejected, Stage::kCorrect)})};
  SuiteOptions options;
  options.samples = {2};
  options.verify.time = true;
  const std::string timed = said(results, options);
  // Wilson's interval of 1 of 2: [0.0945, 0.9055]. pass@1 is the mean of 1/2 and 0, pass@2 of 1 and
  // 0.
  EXPECT_NE(timed.find("verified        50 % (9.5 % to 91 %)"), std::string::npos) << timed;
  EXPECT_NE(timed.find("pass@1          25 % "), std::string::npos) << timed;
  EXPECT_NE(timed.find("pass@2          50 % "), std::string::npos) << timed;
  EXPECT_NE(timed.find("fast_1          50 % "), std::string::npos) << timed;
  EXPECT_NE(timed.find("4.00× over eager where verified, 2.00×"), std::string::npos) << timed;
  EXPECT_EQ(timed.find("torch.compile"), std::string::npos) << timed;

  options.verify.time = false;
  const std::string judged = said(results, options);
  EXPECT_EQ(judged.find("fast_1"), std::string::npos) << judged;
  options.samples = {3};
  EXPECT_NE(said(results, options).find("pass@3          not known"), std::string::npos);
  options.until_accepted = true;
  EXPECT_NE(said(results, options).find("pass@k          not defined"), std::string::npos);
  EXPECT_EQ(said({}, options), "");
}

}  // namespace
}  // namespace kw
