// Judges candidates against a reference: the six stages of docs/stages.md.
//
// A Verifier borrows a WorkerPool (recording, compiling) and an ExecutorClient (trials, timing) and
// keeps nothing else but compiled kernels, so its verdicts depend on their arguments alone. One
// thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>

#include "formats/base/error.h"
#include "runtime/executor_client.h"
#include "verify/numerics/numerics.h"
#include "verify/options.h"
#include "verify/verdict/checks.h"
#include "verify/verdict/verdict.h"
#include "worker/jobs.h"

namespace kw {

// The stage that a worker's refusal belongs to, by its code (docs/formats/protocol.md).
Stage stage_of_code(const std::string& code);
// True when nothing can be said of what was recorded or compiled.
bool is_workers_fault(const JobFault& fault);
// A fault of the user's file, with its code (JobFault::code).
class FileFault : public InputError {
 public:
  explicit FileFault(const JobFault& fault) : InputError(fault.text()), code_(fault.code) {}
  const std::string& code() const { return code_; }

 private:
  const std::string code_;
};
// EnvironmentError when it is the worker's fault, FileFault when it is the file's.
[[noreturn]] void throw_fault(const JobFault& fault);

// A seed from the system's generator.
uint64_t secret_seed();

// A reference that was built and checked; `id` is its task in the executor.
struct Reference {
  Task task;
  int id = -1;
  double record_seconds = 0;
};

class Verifier {
 public:
  // `cache` is asked before a kernel is compiled; one of its own when none is given.
  Verifier(WorkerPool& pool, ExecutorClient& executor, const DeviceProfile& profile,
           KernelCache* cache = nullptr)
      : pool_(pool), executor_(executor), profile_(profile), cache_(cache ? *cache : own_cache_) {}

  // Records (and compiles) the reference. InputError with file and line when it is at fault.
  Reference prepare(const RecordRequest& request, const VerifyOptions& options);
  // A reference that is a Task already (a fragment).
  Reference prepare(Task task);

  // All stages on source text. `candidate`, when given, receives the built task. Of an autotuned
  // candidate that is the Program of its fastest configurations; it is accepted when every
  // configuration is right that could be chosen.
  Verdict verify(const Reference& reference, RecordRequest request, const VerifyOptions& options,
                 Task* candidate = nullptr);

  // verify() in steps, each of which appends its stages to `verdict` and returns whether the
  // candidate passed them: load and record; the slices of its kernels (no stage unless they are
  // refused); compile, on which judge_built() follows.
  bool record(const RecordRequest& request, const VerifyOptions& options, Verdict& verdict,
              Recorded& out);
  bool slice(const RecordRequest& request, const VerifyOptions& options, const Recorded& recorded,
             Verdict& verdict, std::vector<std::string>& out);
  bool compile(const RecordRequest& request, const VerifyOptions& options, const Recorded& recorded,
               const std::vector<std::string>& slices, Verdict& verdict, BuiltTask& out);

  // From the coverage stage on, for a task that is built already; stages are appended to `verdict`.
  void judge(const Reference& reference, const Task& candidate, const VerifyOptions& options,
             Verdict& verdict);
  // Whether a task gives the reference's results, launches or not: the correct stage alone.
  bool is_correct(const Reference& reference, const Task& candidate, VerifyOptions options);

  // The same for a candidate as it was built from `request` (without its configurations): all that
  // its autotuned kernels could choose. `built` becomes the Program of the fastest.
  void judge_built(const Reference& reference, const RecordRequest& request,
                   const VerifyOptions& options, BuiltTask& built, Verdict& verdict);

 private:
  bool check_coverage(const Reference& reference, const Task& candidate,
                      const VerifyOptions& options, const std::vector<int>& idle, Verdict& verdict);
  bool check_correct(const Reference& reference, const Task& candidate, int candidate_id,
                     const VerifyOptions& options, Verdict& verdict, std::vector<int>& idle);
  bool check_time(const Reference& reference, int candidate_id, const VerifyOptions& options,
                  Verdict& verdict);

  WorkerPool& pool_;
  ExecutorClient& executor_;
  const DeviceProfile& profile_;
  KernelCache own_cache_;
  KernelCache& cache_;
};

// Why the times of what stands at `place` of a report cannot be believed; empty when they can.
std::string time_fault(const TimeReport& report, size_t place, double floor_ms,
                       const CheckNames& without = {});

// The verdict on a candidate whose build ended in `fault`: rejected, or not judged when the worker
// is at fault. No stages.
Verdict unbuilt(const JobFault& fault);

// The compile stage of a task that was compiled; its evidence lists the kernels.
StageResult compiled_stage(const Task& task, double seconds);

// The least time the task's results can take on the device, in seconds: outputs written once at
// full bandwidth, but for what fits into L2; every matrix product that algebra.h cannot spare at
// the fastest rate of the tensor cores.
double physical_floor(const Task& task, const DeviceProfile& profile);

}  // namespace kw
