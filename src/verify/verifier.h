// Judges candidates against a reference: the six stages of docs/stages.md.
//
// A Verifier borrows workers, which record and compile, and an executor, which runs trials and
// times. It keeps compiled kernels and nothing else, so its verdicts depend on their arguments
// alone. For one thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "formats/base/error.h"
#include "runtime/executor_client.h"
#include "verify/candidate_build.h"
#include "verify/coverage/coverage.h"
#include "verify/numerics/numerics.h"
#include "verify/options.h"
#include "verify/verdict/checks.h"
#include "verify/verdict/verdict.h"
#include "worker/jobs.h"
#include "worker/worker_pool.h"

namespace kw {

// Returns the stage that a fault of a build belongs to: that of its job, or load if the file has no
// such class or is no Python (codes: docs/formats/protocol.md).
Stage stage_of(const JobFault& fault);
// Returns whether the worker is at fault, so that nothing can be said of the program.
bool is_workers_fault(const JobFault& fault);
// A fault of the user's file, with its code (JobFault::code).
class FileFault : public InputError {
 public:
  explicit FileFault(const JobFault& fault) : InputError(fault.text()), code_(fault.code) {}
  const std::string& code() const { return code_; }

 private:
  const std::string code_;
};
// Throws EnvironmentError if the worker is at fault, FileFault if the file is.
[[noreturn]] void throw_fault(const JobFault& fault);

// Returns a seed from the system's generator.
uint64_t secret_seed();

// Returns whether a program, by its hash, is in a sample of this share. Samples for different
// purposes differ; one for the same purpose is the same in each run.
bool is_in_sample(const std::string& purpose, const std::string& program, double share);

// Returns the deadlines of a build.
BuildPlan build_plan(const VerifyOptions& options);

// A reference that was built and checked; `id` is its task in the executor.
struct Reference {
  Task task;
  int id = -1;
  double record_seconds = 0;
  std::vector<std::string> warnings;  // what the recording tells people
};

// Which function runs which stages (docs/stages.md):
//
//   prepare      builds the reference and loads it into the executor: no stage
//   build        load, record, compile
//   judge        coverage, correct, time, of one Program
//   judge_built  record again, as adopt() may refuse a candidate; then the stages of judge. Of an
//                autotuned candidate, time chooses the configurations before (configurations.cc)
//   verify       all: build, then judge_built
class Verifier {
 public:
  // `cache` is asked before a kernel is compiled; without one the verifier has a separate cache.
  Verifier(Workers& workers, Executor& executor, const DeviceProfile& profile,
           KernelCache* cache = nullptr)
      : workers_(workers),
        executor_(executor),
        profile_(profile),
        cache_(cache ? *cache : own_cache_) {}

  // Records the reference and compiles its kernels. Throws InputError with file and line if it is
  // at fault.
  Reference prepare(const RecordRequest& request, const VerifyOptions& options);
  // Returns the request for a reference whose file defines a candidate too, without the candidate:
  // an export holds the reference's text. Throws InputError if the two cannot be told apart, or if
  // the rest records as another model.
  RecordRequest without_candidate(RecordRequest request, const std::string& candidate,
                                  const VerifyOptions& options);
  // Takes a reference that is a Task already (a fragment).
  Reference prepare(Task task);

  // Runs all stages on source text. `candidate`, if given, receives the adopted Program, which is
  // what the verdict is about and what may be handed out.
  Verdict verify(const Reference& reference, RecordRequest request, const VerifyOptions& options,
                 Task* candidate = nullptr);

  // Called when a candidate is recorded and sliced. Returning false ends the build without an
  // outcome.
  using Claim = std::function<bool(const CandidateBuild&)>;
  // Runs the stages load, record and compile of verify(). Appends them to `verdict` and returns
  // whether the candidate passed them. judge_built() is the next step.
  bool build(const RecordRequest& request, const VerifyOptions& options, Verdict& verdict,
             BuiltTask& out, const Claim& claim = {});

  // Returns an adopted task as a file, which was recorded again and gave the same task. `request`
  // is the reference's.
  JobOutcome<std::string> exported(const Reference& reference, const RecordRequest& request,
                                   const Task& task, const VerifyOptions& options);

  // Runs the stages from coverage on for a built task and appends them to `verdict`.
  void judge(const Reference& reference, const Task& candidate, const VerifyOptions& options,
             Verdict& verdict);
  // Runs the correct stage alone. Returns whether a task, with or without launches, gives the
  // reference's results.
  bool is_correct(const Reference& reference, const Task& candidate, VerifyOptions options);

  // Adopts the candidate (program/rewrite/adopt.h) and runs these stages. `built` was built from
  // `request` without its configurations, and becomes the adopted Program; that of an autotuned
  // candidate has the fastest configurations.
  void judge_built(const Reference& reference, const RecordRequest& request,
                   const VerifyOptions& options, BuiltTask& built, Verdict& verdict);

 private:
  bool check_build(const CandidateBuild& build, double seconds, Verdict& verdict);
  bool check_coverage(const Reference& reference, const Task& candidate,
                      const VerifyOptions& options, const LaunchFindings& launches,
                      Verdict& verdict);
  bool check_correct(const Reference& reference, int candidate_id, const VerifyOptions& options,
                     Verdict& verdict, LaunchFindings& launches);
  // If forward takes plain numbers, records both files of an accepted candidate with other ones,
  // and tries them once more (other_numbers.cc). A candidate that is wrong there is rejected. One
  // that cannot be built with other numbers, or whose reference cannot, stays accepted.
  void check_other_numbers(const Reference& reference, const RecordRequest& request,
                           const VerifyOptions& options, Verdict& verdict);
  // Records again with the numbers that `request`, the candidate's, says. Returns whether the
  // reference takes them.
  bool takes_other_numbers(const Reference& reference, const RecordRequest& request,
                           const VerifyOptions& options, Verdict& verdict);
  // Runs an accepted candidate of the sample under compute-sanitizer. Rejects what it finds.
  bool check_sanitized(const Reference& reference, const Task& candidate,
                       const VerifyOptions& options, Verdict& verdict);
  bool check_time(const Reference& reference, int candidate_id, const VerifyOptions& options,
                  Verdict& verdict);

  Workers& workers_;
  Executor& executor_;
  const DeviceProfile& profile_;
  KernelCache own_cache_;
  KernelCache& cache_;
};

// Returns the Program that a verdict on a candidate is about (program/rewrite/adopt.h), or why the
// candidate has none. It has none either if it cannot be exported. `request` is the candidate's.
JobOutcome<Task> adopted(const Reference& reference, const Task& candidate,
                         const RecordRequest& request);

// Returns why the times at `place` of a report cannot be believed; empty if they can.
std::string time_fault(const TimeReport& report, size_t place, double floor_ms,
                       const CheckNames& without = {});

// Ends the verdict on a candidate whose build ended in `fault`: rejected at the fault's stage, or
// not judged if the worker is at fault. Stages from there on that an earlier build had passed go.
void end_unbuilt(Verdict& verdict, const JobFault& fault, double seconds = 0);

// Returns the compile stage of a compiled task; its evidence lists the kernels.
StageResult compiled_stage(const Task& task, double seconds);

// Returns the least time the task's results can take on the device, in seconds. Outputs are written
// once at full bandwidth, except for what fits into L2. Every matrix product that algebra.h cannot
// spare runs at the fastest rate of the tensor cores.
double physical_floor(const Task& task, const DeviceProfile& profile);

}  // namespace kw
