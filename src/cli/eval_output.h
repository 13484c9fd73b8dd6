// What comes of each policy that `kernelwright eval` asks: counted, printed, and written to the
// folder of --out (docs/formats/eval.md). One thread at a time.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "eval/run/metrics.h"
#include "eval/suite/suite.h"
#include "eval/suite/suite_models.h"
#include "policy/policy.h"
#include "runtime/executor_client.h"

namespace kw {

// One of the policies, and what came of it.
struct JudgedPolicy {
  std::string label;             // what its lines say it is; empty where it is the only one
  std::filesystem::path folder;  // of what it wrote
  std::unique_ptr<Policy> policy;
  std::map<std::string, int> outcomes;
  // By the models' places: results come in another order, and intervals depend on it.
  std::map<size_t, TaskAnswers> tasks;
};

// The model's line, as --json prints it. `label`: the policy's, of several.
Json line_of(const SuiteResult& result, const std::string& label);
// Adds the line of the model at `place`. InputError where it is none.
void count_line(const Json& line, size_t place, JudgedPolicy& judged);

// The model, what the policy wrote for it, and beside what was accepted of that the model with it
// in place. Models in folders of a suite have theirs in such folders.
void write_sources(const SuiteResult& result, const SuiteModel& model,
                   const std::filesystem::path& folder);

// For people: a model's outcome, in a line.
void print_result(const SuiteResult& result, const std::string& label);
// The last of what is printed, for people or as a line of JSON: of one policy all models together,
// and each level where there are several.
void print_summary(const JudgedPolicy& judged, size_t policy, const std::vector<SuiteModel>& models,
                   const SuiteOptions& options, const ExecutorClient& executor, bool json);
// Counts for people, beside the results, on stderr.
void print_counts(const JudgedPolicy& judged, size_t models);

}  // namespace kw
