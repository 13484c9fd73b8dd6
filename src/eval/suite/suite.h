// Policies on many models: each model's whole forward program is one fragment, a policy's
// proposals for it are built and judged like any candidate. No search: what a policy can write by
// itself (`kernelwright eval`). Samples can also be compared with each other: then each is tried
// once, all that are right are timed in one run, and the fastest alone is judged in full.
//
// Models go through in batches. Within one, recording and compiling fill the crew while the
// executor judges, and equal samples are judged once (verify/batch/batch.h), whichever policy wrote
// them. All policies' samples for a model stand together, so that they share what its reference
// costs. Borrows the crew, an ExecutorClient, the policies and the profile. One thread.
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
  // Proposals judged for each model, of each policy; the last number is that of all further ones.
  std::vector<int> samples = {1};
  int batch = 64;             // models in flight
  uint64_t seed = 0;          // of each policy
  bool side_by_side = false;  // samples are compared with each other
  // Or are built and judged in order until one is accepted; the rest is left out.
  bool until_accepted = false;
  VerifyOptions verify;
  // Builds torch.compile's version of each model, an AOTInductor package or "" where there is none;
  // called from another thread, while proposals are built. May be empty.
  std::function<std::vector<std::string>(const std::vector<BaselineRequest>&)> compile_baselines;
  // One line when a part of a batch is done, with its seconds; called from any thread, may be
  // empty.
  std::function<void(const std::string&)> progress;

  int samples_of(size_t policy) const { return samples[std::min(policy, samples.size() - 1)]; }
};

struct SuiteSample {
  std::string family, plan, source;  // a forward of the fragment's arguments
  std::string python;                // where it was accepted: the model with it in place (export.h)
  Json schedule;                     // what the policy says of it
  Verdict verdict;
  bool in_full = false;  // judged by all trials that were asked for
  int same_as = -1;      // the result's sample whose verdict this is, as their programs are equal
  double device_ms = 0;  // 0: not timed
};

// What one policy wrote for one model.
struct SuiteResult {
  size_t policy = 0, place = 0;   // of the suite's policies and models, which
  std::string model;              // the request's file
  std::string task;               // forward_hash() of its program; empty: not recorded
  std::string fault;              // the model's own: nothing was asked for
  std::string fault_code;         // JobFault::code; empty: no task's
  bool is_workers_fault = false;  // no, the worker's or the machine's
  std::string refusal;            // why the policy gave nothing
  std::vector<SuiteSample> samples;
  double eager_ms = 0, compiled_ms = 0;  // of samples that were timed side by side; 0: none
  double floor_ms = 0;                   // physical_floor()
  // Of trials and timing, with waits for the executor, and what they went into, phase_seconds(); of
  // a search, all of it, and OptimizeResult::phase_seconds.
  double judge_seconds = 0;
  std::map<std::string, double> phases;

  // Some sample was accepted, in full.
  bool verified() const;
  // "verified", "rejected", "not judged" (no sample accepted, some not judged, or the model not
  // recorded by a fault that is not its own), "refused", "unusable" (a fault of the model file).
  std::string outcome() const;
};

Json to_json(const SuiteResult& result);  // docs/formats/eval.md

class Suite {
 public:
  Suite(JudgingCrew& crew, ExecutorClient& executor, std::vector<Policy*> policies,
        const DeviceProfile& profile)
      : crew_(crew), executor_(executor), policies_(std::move(policies)), profile_(profile) {}

  // Calls `done` for each model and policy, from one thread at a time: as soon as the last of the
  // samples is judged, whatever is under way before it, and otherwise, where one model is judged
  // after the other (side_by_side, until_accepted), in order.
  void run(const std::vector<RecordRequest>& models, const SuiteOptions& options,
           const std::function<void(const SuiteResult&)>& done);

 private:
  struct Model;  // recorded
  struct Asked;  // one policy's samples for a model, on their way
  std::vector<JobOutcome<BuiltTask>> built_by_crew(const std::vector<RecordRequest>& requests,
                                                   std::chrono::milliseconds deadline);
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
  void judge(WorkerPool& pool, Asked& asked, size_t first, const SuiteOptions& options);
  void judge_one(Verifier& verifier, Asked& asked, size_t k, const Reference& reference,
                 const VerifyOptions& options);
  void judge_side_by_side(Verifier& verifier, Asked& asked, const Reference& reference,
                          const VerifyOptions& options);
  void time(Asked& asked, const Reference& reference, const std::vector<size_t>& right,
            const VerifyOptions& options);

  JudgingCrew& crew_;
  ExecutorClient& executor_;
  const std::vector<Policy*> policies_;
  const DeviceProfile& profile_;
};

}  // namespace kw
