// Policies on many models, without a search (`kernelwright eval`). Each model's whole forward
// program is one fragment, and a policy's proposals for it are built and judged like any candidate.
// Samples can also be compared with each other. Then each is tried once, all right ones are timed
// in one run, and only the fastest is judged in full.
//
// Models are worked on in batches. In a batch, workers record and compile while the executor
// judges, and equal samples are judged once (verify/batch/batch.h), whichever policy wrote them.
// All policies' samples for a model follow each other, so that they share the cost of its
// reference. Borrows the crew, an ExecutorClient, the policies and the profile. One thread.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "policy/policy.h"
#include "verify/baselines.h"
#include "verify/batch/batch.h"
#include "verify/batch/crew.h"
#include "verify/verifier.h"

namespace kw {

struct SuiteOptions {
  // Proposals judged for each model, by policy; the last number holds for all further policies.
  std::vector<int> samples = {1};
  int batch = 64;             // models in flight
  uint64_t seed = 0;          // for each policy
  bool side_by_side = false;  // samples are compared with each other
  // Samples are built and judged in order until one is accepted; the rest is left out.
  bool until_accepted = false;
  VerifyOptions verify;
  // Builds torch.compile's version of each model: an AOTInductor package, or "" if there is none.
  // It is called from another thread, while proposals are built. May be empty.
  std::function<std::vector<std::string>(const std::vector<BaselineRequest>&)> compile_baselines;
  // Takes one line, with seconds, when a part of a batch is done. Called from any thread; may be
  // empty.
  std::function<void(const std::string&)> progress;

  int samples_of(size_t policy) const { return samples[std::min(policy, samples.size() - 1)]; }
};

struct SuiteSample {
  std::string family, plan, source;  // its forward takes the fragment's arguments
  std::string python;                // if accepted, the model with it in place (export.h)
  Json schedule;                     // as in Proposal
  Verdict verdict;
  bool in_full = false;  // judged by all trials that were asked for
  int same_as = -1;      // the result's sample with an equal program, whose verdict this is
  double device_ms = 0;  // 0: not timed
};

// What became of a model. Not judged: no sample was accepted and some were not judged, or the model
// was not recorded by a fault that is not its own. Refused: the policy wrote nothing. Unusable: the
// model file has a fault.
enum class ModelOutcome { kVerified, kRejected, kNotJudged, kRefused, kUnusable };
std::string_view outcome_name(ModelOutcome outcome);
ModelOutcome model_outcome_from_json(const JsonReader& in);  // its name; InputError

// One policy's samples for one model.
struct SuiteResult {
  size_t policy = 0, place = 0;   // indices in the suite's policies and models
  std::string model;              // the request's file
  std::string task;               // forward_hash() of its program; empty: not recorded
  std::string fault;              // why the model could not be recorded: nothing was asked for
  std::string fault_code;         // its JobFault::code; empty if it is no job's fault
  bool is_workers_fault = false;  // it is not the model's fault but the worker's or the machine's
  std::string refusal;            // why the policy gave nothing
  std::vector<SuiteSample> samples;
  double eager_ms = 0, compiled_ms = 0;  // baselines of samples timed side by side; 0: none
  double floor_ms = 0;                   // physical_floor()
  // The seconds of trials and timing, with waits for the executor, and their parts,
  // phase_seconds(). For a search, all of its seconds and OptimizeResult::phase_seconds.
  double judge_seconds = 0;
  std::map<std::string, double> phases;

  // Returns whether some sample was accepted in full.
  bool verified() const;
  ModelOutcome outcome() const;
};

Json to_json(const SuiteResult& result);  // docs/formats/eval.md

class Suite {
 public:
  Suite(JudgingCrew& crew, Executor& executor, std::vector<Policy*> policies,
        const DeviceProfile& profile)
      : crew_(crew), executor_(executor), policies_(std::move(policies)), profile_(profile) {}

  // Calls `done` for each model and policy, from one thread at a time, as soon as the last of its
  // samples is judged. With side_by_side or until_accepted, one model is judged after the other, in
  // order.
  void run(const std::vector<RecordRequest>& models, const SuiteOptions& options,
           const std::function<void(const SuiteResult&)>& done);

 private:
  struct Model;  // a recorded model
  struct Asked;  // one policy's samples for a model, on their way
  std::vector<JobOutcome<BuiltTask>> built_by_crew(const std::vector<RecordRequest>& requests,
                                                   const BuildPlan& plan);
  std::vector<Model> record(const std::vector<RecordRequest>& requests, size_t first, size_t last);
  std::vector<Asked> ask(std::vector<Model>& models, const SuiteOptions& options);
  void propose(std::vector<Asked>& batch, size_t policy, const SuiteOptions& options);
  void propose(Asked& asked, const SuiteOptions& options);
  void judge(std::vector<Asked>& batch, const SuiteOptions& options,
             const std::function<void(const SuiteResult&)>& done);
  void build_packages(std::vector<Asked>& batch, const SuiteOptions& options);
  void judge_all(std::vector<Asked>& batch, const SuiteOptions& options,
                 const std::function<void(const SuiteResult&)>& done);
  void take(Asked& asked, size_t k, const BatchResult& found);
  static void put_in_place(const Asked& asked, SuiteSample& sample, const Task& program);
  void judge_in_rounds(std::vector<Asked>& batch, const SuiteOptions& options,
                       const std::function<void(const SuiteResult&)>& done);
  size_t build(std::vector<Asked>& batch, size_t first, size_t last, const SuiteOptions& options);
  void judge(Workers& workers, Asked& asked, size_t first, const SuiteOptions& options);
  void judge_one(Verifier& verifier, Asked& asked, size_t k, const Reference& reference,
                 const VerifyOptions& options);
  void judge_side_by_side(Verifier& verifier, Asked& asked, const Reference& reference,
                          const VerifyOptions& options);
  void time(Asked& asked, const Reference& reference, const std::vector<size_t>& right,
            const VerifyOptions& options);

  JudgingCrew& crew_;
  Executor& executor_;
  const std::vector<Policy*> policies_;
  const DeviceProfile& profile_;
};

}  // namespace kw
