// With the real worker and executor, on the CPU.
#include "train/judge/verifier_judge.h"

#include <gtest/gtest.h>

#include "teacher/teacher.h"
#include "train/data/program_source.h"
#include "train/run/test_machine.h"

namespace kw::train {
namespace {

constexpr const char* kModel = R"(import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1
def get_inputs():
    return [torch.randn(40, 33)]
def get_init_inputs():
    return []
)";

constexpr const char* kAnswer = R"( values: t0, t1 -> out0; family: pointwise
import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, tl.maximum(x, 0.0) + 1.0, mask=at < n)


class ModelNew(torch.nn.Module):
    def forward(self, a0):
        out = torch.empty_like(a0)
        kernel[(triton.cdiv(a0.numel(), 256),)](a0, out, a0.numel(), BLOCK=256)
        return out
)";

std::string with(const std::string& part, const std::string& instead) {
  std::string out = kAnswer;
  const size_t at = out.find(part);
  EXPECT_NE(at, std::string::npos) << part;
  return out.replace(at, part.size(), instead);
}

std::shared_ptr<const Task> task_of(const std::string& model) {
  ProgramSource source({}, test_pool(), test_profile());
  std::vector<DrawnProgram> drawn(1);
  drawn[0].text = model;
  source.record(drawn);
  EXPECT_EQ(source.first_fault(), "");
  return std::make_shared<const Task>(drawn.at(0).task.value());
}

TEST(RealJudgeOnProcesses, AcceptsWhatTheTeacherWrites) {
  ProgramOptions options;
  options.limits = {{.tensor = 0x1p12, .total = 0x1p14, .low_flops = 0x1p10, .high_flops = 0x1p12}};
  options.threads = 2;
  ProgramSource source(options, test_pool(), test_profile());
  auto drawn = source.draw(0, 8);
  source.record(drawn);
  std::vector<AnswerToJudge> answers;
  for (DrawnProgram& each : drawn) {
    auto task = std::make_shared<const Task>(std::move(each.task.value()));
    const auto proposals =
        make_teacher({.whole = true})
            ->propose(*task, test_profile(), 1, 0, std::chrono::steady_clock::time_point::max());
    ASSERT_EQ(proposals.size(), 1u) << each.operators;
    answers.push_back({task, proposals[0].plan + "\n" + proposals[0].source});
  }
  const JudgeReport report = test_judge().judge(answers, 7);
  for (size_t i = 0; i < answers.size(); ++i) {
    const Judgement& found = report.judgements[i];
    ASSERT_TRUE(found.judged) << found.reason;
    EXPECT_TRUE(found.judged->valid && found.judged->correct)
        << drawn[i].operators << ": " << found.stage << ": " << found.reason;
    EXPECT_EQ(found.judged->speedup, 1);  // nothing is timed: as fast as eager
  }
  const JudgeTimes& times = report.times;
  EXPECT_GT(times.build, 0);
  EXPECT_GT(times.executor, 0);
  EXPECT_GE(times.longest_build, times.build * 2 / report.distinct);  // by two workers
  EXPECT_LT(0, times.half);
  EXPECT_LE(times.half, times.most);
  EXPECT_LE(times.most, times.wall);
}

struct Broken {
  std::string text, stage;
  bool valid;
};

TEST(RealJudgeOnProcesses, RejectsWhatIsBrokenWhereItIs) {
  const std::vector<Broken> broken = {
      {"I would rather not.", "load", false},
      {with("def forward(self, a0):", "def forward(self, a0)"), "load", false},
      {with("        return out\n", "        return out if out.sum() > 0 else a0\n"), "record",
       false},
      {with("        out = torch", "        1 / 0\n        out = torch"), "record", false},
      {with("tl.maximum(x, 0.0)", "tl.maximum_of(x, 0.0)"), "compile", false},
      {with("        return out\n", "        return torch.relu(a0) + 1\n"), "coverage", false},
      {with("        return out\n", "        return torch.clamp(out, min=0)\n"), "coverage", false},
      {with("+ 1.0", "+ 1.01"), "correct", true},
      {with("torch.empty_like(a0)", "torch.empty_like(a0)[:39]"), "correct", true},
  };
  const auto task = task_of(kModel);
  std::vector<AnswerToJudge> answers = {{task, kAnswer}, {task, kAnswer, true}};
  for (const Broken& each : broken) answers.push_back({task, each.text});
  const JudgeReport report = test_judge().judge(answers, 7);
  ASSERT_EQ(report.judgements.size(), answers.size());
  const Judgement& right = report.judgements[0];
  ASSERT_TRUE(right.judged && right.judged->correct) << right.stage << ": " << right.reason;
  EXPECT_EQ(right.stage, "");
  EXPECT_EQ(report.judgements[1].stage, "load");  // cut off, whatever it says
  for (size_t i = 0; i < broken.size(); ++i) {
    const Judgement& found = report.judgements[i + 2];
    ASSERT_TRUE(found.judged) << found.reason;
    EXPECT_EQ(found.stage, broken[i].stage) << found.reason << "\n" << broken[i].text;
    EXPECT_EQ(found.judged->valid, broken[i].valid) << found.stage << ": " << found.reason;
    EXPECT_FALSE(found.judged->correct);
    EXPECT_FALSE(found.reason.empty());
  }
}

TEST(RealJudgeOnProcesses, JudgesIdenticalAnswersOnce) {
  const auto task = task_of(kModel);
  const std::string wrong = with("+ 1.0", "+ 2.0");
  // A plan is no part of what is judged; nor are names of what does the same.
  const std::string renamed = with("(x_ptr + at,", "(x_ptr + at ,");
  const std::vector<AnswerToJudge> answers = {
      {task, kAnswer}, {task, wrong},   {task, "another plan\n" + std::string(kAnswer)},
      {task, wrong},   {task, kAnswer}, {task, renamed}};
  const JudgeReport report = test_judge().judge(answers, 7);
  EXPECT_GE(report.distinct, 2);
  EXPECT_LE(report.distinct, 3);
  for (const size_t i : {0, 2, 4, 5}) EXPECT_TRUE(report.judgements[i].judged->correct) << i;
  for (const size_t i : {1, 3}) EXPECT_EQ(report.judgements[i].stage, "correct") << i;
}

// One that never ends is rejected, and keeps nothing of the others.
TEST(RealJudgeOnProcesses, GivesUpWhatHangs) {
  VerifierJudge hasty(default_worker_config(), test_executor(), test_profile(),
                      {.jobs = 2, .trials = 1, .build_seconds = 5, .trial_seconds = 60});
  const auto task = task_of(kModel);
  const std::string hangs =
      with("        out = torch", "        while True: pass\n        out = torch");
  const auto start = std::chrono::steady_clock::now();
  const JudgeReport report = hasty.judge({{task, hangs}, {task, kAnswer}}, 7);
  EXPECT_EQ(report.judgements[0].stage, "record") << report.judgements[0].reason;
  EXPECT_TRUE(report.judgements[1].judged->correct);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(JudgementOf, SpeaksOfTheVerdict) {
  Verdict verdict;
  verdict.reason = "the worker died";
  EXPECT_FALSE(judgement_of(verdict, true).judged);
  verdict.outcome = Verdict::Outcome::kAccepted;
  verdict.reason.clear();
  verdict.speedup_eager = Interval{1.5, 1.4, 1.6};
  verdict.program = "abc";
  EXPECT_EQ(judgement_of(verdict, true).judged->speedup, 1.4);
  EXPECT_EQ(judgement_of(verdict, true).program, "abc");
  EXPECT_EQ(judgement_of(verdict, false).judged->speedup, 1);
  verdict.degenerate = true;
  EXPECT_FALSE(judgement_of(verdict, true).judged);
  verdict.outcome = Verdict::Outcome::kRejected;
  for (const auto& [stage, valid] : {std::pair{Stage::kLoad, false},
                                     {Stage::kRecord, false},
                                     {Stage::kCompile, false},
                                     {Stage::kCoverage, false},
                                     {Stage::kCorrect, true},
                                     {Stage::kTime, true}}) {
    verdict.rejected_at = stage;
    const Judgement found = judgement_of(verdict, true);
    EXPECT_EQ(found.judged->valid, valid) << stage_name(stage);
    EXPECT_FALSE(found.judged->correct);
    EXPECT_EQ(found.stage, stage_name(stage));
  }
}

}  // namespace
}  // namespace kw::train
