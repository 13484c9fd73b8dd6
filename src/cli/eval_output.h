// What `kernelwright eval` prints, and writes to the folder of --out (docs/formats/eval.md). One
// thread at a time.
#pragma once

#include <filesystem>
#include <string>

#include "eval/run/eval_session.h"

namespace kw {

// Prints each result, as a line for people or as --json has it, and writes its sources.
class EvalOutput : public EvalSink {
 public:
  explicit EvalOutput(bool json) : json_(json) {}
  // Writes the model, what the policy wrote for it and, for accepted samples, the model with the
  // sample in place. Models in folders of a suite have their files in folders of the same names.
  void write(const SuiteResult& result, const SuiteModel& model,
             const std::filesystem::path& folder) override;
  void show(const SuiteResult& result, const Json& line, const std::string& label) override;

 private:
  const bool json_;
};

// Prints one policy's summary at the end, for people or as a line of JSON.
void print_summary(const JudgedPolicy& judged, const PolicySummary& summary,
                   const ExecutorClient& executor, bool json);
// Prints counts for people on stderr, alongside the results.
void print_counts(const JudgedPolicy& judged, size_t models);

}  // namespace kw
