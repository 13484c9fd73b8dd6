// Several policies on several models, with the real worker and executor on the CPU.
#include "eval/suite/suite.h"

#include <algorithm>

#include "search/form/test_form.h"

namespace kw {
namespace {

constexpr const char* kRight = R"(import torch
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

std::string wrong_answer() {
  std::string out = kRight;
  return out.replace(out.find("+ 1.0"), 5, "+ 2.0");
}

// Answers with these texts, whatever the task, and notes that it was asked.
class Writes : public Policy {
 public:
  Writes(std::string name, std::vector<std::string> texts, std::vector<std::string>& log)
      : name_(std::move(name)), texts_(std::move(texts)), log_(log) {}
  std::string name() const override { return name_; }
  std::vector<Proposal> propose(const Task& task, const DeviceProfile&, int count, uint64_t seed,
                                std::chrono::steady_clock::time_point) override {
    log_.push_back(name_ + " " + task.source.file + " " + std::to_string(count) + " " +
                   std::to_string(seed));
    std::vector<Proposal> out;
    for (const std::string& text : texts_) out.push_back({.family = name_, .source = text});
    return out;
  }

 private:
  const std::string name_;
  const std::vector<std::string> texts_;
  std::vector<std::string>& log_;
};

class SuiteOfPoliciesOnProcesses : public FormTest {
 protected:
  std::vector<SuiteResult> run(const std::vector<Policy*>& policies, size_t models) {
    std::vector<RecordRequest> requests;
    for (size_t i = 0; i < models; ++i) {
      RecordRequest& request = requests.emplace_back();
      request.text =
          model("", "        return torch.relu(x) + 1\n", "40, " + std::to_string(30 + i));
      request.file = std::string(1, static_cast<char>('a' + i)) + ".py";
      request.profile = machine_->profile;
    }
    SuiteOptions options;
    options.samples = samples_;
    options.seed = 11;
    options.verify.seed = 7;
    options.verify.trials = 1;
    std::vector<SuiteResult> out;
    JudgingCrew crew(default_worker_config(), 2);
    Suite(crew, machine_->executor, policies, machine_->profile)
        .run(requests, options, [&](const SuiteResult& result) { out.push_back(result); });
    return out;
  }
  // Tasks that the executor was given, so far.
  int loaded() {
    const int id = machine_->executor.load({});
    machine_->executor.unload(id);
    return id;
  }
  std::vector<std::string> log_;
  std::vector<int> samples_ = {3};
};

std::string outcomes(const SuiteResult& result) {
  std::string out = result.model + " " + std::to_string(result.policy);
  for (const SuiteSample& sample : result.samples) {
    out += sample.verdict.outcome == Verdict::Outcome::kAccepted ? " right" : " wrong";
  }
  return out;
}

std::vector<std::string> sorted(const std::vector<SuiteResult>& results) {
  std::vector<std::string> out;
  for (const SuiteResult& result : results) out.push_back(outcomes(result));
  std::ranges::sort(out);
  return out;
}

TEST_F(SuiteOfPoliciesOnProcesses, EachIsAskedForItsOwnNumberOfSamples) {
  Writes first("first", {kRight}, log_), second("second", {kRight}, log_),
      third("third", {kRight}, log_);
  samples_ = {4, 2};
  run({&first, &second, &third}, 1);
  EXPECT_EQ(log_,
            (std::vector<std::string>{"first a.py 4 11", "second a.py 2 11", "third a.py 2 11"}));
}

TEST_F(SuiteOfPoliciesOnProcesses, EachIsAskedAboutAllModelsAsIfItWereAlone) {
  Writes first("first", {wrong_answer(), kRight}, log_), second("second", {kRight}, log_);
  const std::vector<SuiteResult> results = run({&first, &second}, 2);
  EXPECT_EQ(log_, (std::vector<std::string>{"first a.py 3 11", "first b.py 3 11",
                                            "second a.py 3 11", "second b.py 3 11"}));
  EXPECT_EQ(sorted(results), (std::vector<std::string>{"a.py 0 wrong right", "a.py 1 right",
                                                       "b.py 0 wrong right", "b.py 1 right"}));
  for (const SuiteResult& result : results) {
    EXPECT_EQ(result.place, result.model == "a.py" ? 0u : 1u);
    EXPECT_EQ(result.samples.at(0).family, result.policy == 0 ? "first" : "second");
    EXPECT_FALSE(result.samples.back().python.empty());
  }
}

TEST_F(SuiteOfPoliciesOnProcesses, WhatIsEqualIsJudgedOnceWhoeverWroteIt) {
  const std::vector<std::string> texts = {wrong_answer(), kRight,
                                          std::string("# Again.\n") + kRight};
  Writes first("first", texts, log_), second("second", texts, log_);
  const int before = loaded();
  run({&first}, 1);
  const int alone = loaded();
  const std::vector<SuiteResult> results = run({&first, &second}, 1);
  EXPECT_EQ(loaded() - alone, alone - before);
  EXPECT_EQ(sorted(results),
            (std::vector<std::string>{"a.py 0 wrong right right", "a.py 1 wrong right right"}));
  for (const SuiteResult& result : results) {
    // One of the equal samples stands for itself, though another policy's was judged in its stead.
    EXPECT_EQ(result.samples[0].same_as, -1);
    const int second_as = result.samples[1].same_as, third_as = result.samples[2].same_as;
    EXPECT_TRUE((second_as == -1 && third_as == 1) || (second_as == 2 && third_as == -1))
        << second_as << " " << third_as;
  }
}

TEST_F(SuiteOfPoliciesOnProcesses, ResultsComeWhenTheirLastSampleIsJudged) {
  Writes writes("writes", {kRight}, log_), refuses("refuses", {}, log_);
  const std::vector<SuiteResult> results = run({&writes, &refuses}, 2);
  ASSERT_EQ(results.size(), 4u);
  EXPECT_EQ(outcomes(results[0]), "a.py 1");
  EXPECT_EQ(outcomes(results[1]), "b.py 1");
  EXPECT_EQ(results[0].outcome(), ModelOutcome::kRefused);
  EXPECT_EQ(results[2].outcome(), ModelOutcome::kVerified);
}

TEST(SuiteResult, AWorkersFaultIsNotTheModels) {
  SuiteResult result;
  result.fault = "model.py: was killed by SIGKILL, probably because memory ran out";
  EXPECT_EQ(result.outcome(), ModelOutcome::kUnusable);
  result.is_workers_fault = true;
  EXPECT_EQ(result.outcome(), ModelOutcome::kNotJudged);
}

}  // namespace
}  // namespace kw
