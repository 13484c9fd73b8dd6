// A run of `kernelwright eval`: judges what policies write for the models of a suite, goes on from
// the lines that an ended run left, and sums up. What is printed and written is a sink's affair.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "eval/run/eval_lines.h"
#include "eval/run/metrics.h"
#include "eval/suite/suite.h"
#include "eval/suite/suite_models.h"
#include "policy/policy.h"
#include "runtime/executor_client.h"
#include "search/common/search_options.h"

namespace kw {

// One of the policies that are judged, and what came of it.
struct JudgedPolicy {
  std::string label;             // what its lines say; empty if it is the only policy
  std::filesystem::path folder;  // where its sources are written; empty: nowhere
  std::unique_ptr<Policy> policy;
  std::map<std::string, int> outcomes;  // number of models by outcome
  // By the models' places: results come in another order, and intervals depend on the order.
  std::map<size_t, TaskAnswers> tasks;
};

struct EvalSessionOptions {
  SuiteOptions suite;
  std::optional<OptimizeOptions> search;  // if set, the first policy optimizes each model instead
  std::filesystem::path out;              // folder of what is written; empty: nothing is
  WorkerConfig workers;                   // how what is judged runs
};

// Takes results as they come, from one thread at a time.
class EvalSink {
 public:
  virtual ~EvalSink() = default;
  // Writes the sources of a result, before its line exists. Called only if there is a folder.
  virtual void write(const SuiteResult& result, const SuiteModel& model,
                     const std::filesystem::path& folder) = 0;
  // Shows a result, whose line is kept by now.
  virtual void show(const SuiteResult& result, const Json& line, const std::string& label) = 0;
};

// The metrics of one policy, over all models and, if there are several levels, over each.
struct PolicySummary {
  Metrics all;
  std::map<std::string, Metrics> levels;
};

// Borrows all but options, places and policies. One thread, but for judged().
class EvalSession {
 public:
  // `models` is the whole suite, and `places` says which of them this run judges.
  EvalSession(EvalSessionOptions options, const std::vector<SuiteModel>& models,
              std::vector<size_t> places, std::vector<JudgedPolicy> policies,
              const DeviceProfile& profile, Executor& executor, SharedZygote& zygote);

  // Counts the models whose lines are there already; judge() leaves them out. The lines of the
  // others will be added to `lines`. Returns the number of models counted.
  size_t resume(EvalLines& lines);
  // Judges the models that are left. Throws what policies, lines and the sink throw.
  void judge(EvalSink& sink);
  // Returns a summary for each policy, in their order.
  std::vector<PolicySummary> summarize() const;

  // Returns the number of models that this run is about.
  size_t models() const { return model_count_; }
  // Returns the number of models of which each policy's line is there. Any thread.
  size_t judged() const { return resumed_ + judged_lines_ / policies_.size(); }
  const std::vector<JudgedPolicy>& policies() const { return policies_; }

 private:
  void take(const SuiteResult& result, size_t place, EvalSink& sink);
  void judge_suite(const std::vector<RecordRequest>& requests,
                   const std::function<void(const SuiteResult&)>& done);
  void search_models(const std::vector<RecordRequest>& requests,
                     const std::function<void(const SuiteResult&)>& done);

  const EvalSessionOptions options_;
  const std::vector<SuiteModel>& models_;
  std::vector<size_t> places_;  // of models that are left to judge
  const size_t model_count_;
  std::vector<JudgedPolicy> policies_;
  const DeviceProfile& profile_;
  Executor& executor_;
  SharedZygote& zygote_;
  EvalLines* lines_ = nullptr;
  size_t resumed_ = 0;                    // models
  std::atomic<size_t> judged_lines_ = 0;  // of this session
};

}  // namespace kw
