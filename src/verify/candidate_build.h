// Building a candidate: record, slice, compile, each a job of a worker.
//
// CandidateBuild knows which job comes next and what its result means. It starts and waits for
// nothing, so that one thread can drive many builds, and tests need no worker.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "worker/jobs.h"
#include "worker/kernel_cache.h"
#include "worker/workers.h"

namespace kw {

enum class BuildStage { kRecord, kSlice, kCompile, kDone };

struct BuildPlan {
  std::chrono::milliseconds record_deadline{60000}, compile_deadline{120000};  // of each job
  // If given, kernels are sliced first and only those are compiled that the cache does not have; it
  // has them afterwards. Outlives the build.
  KernelCache* cache = nullptr;
  // How often a job runs whose worker fails: the memory that ran out may have been another's.
  int attempts = 1;
};
// Returns a plan in which each job has the same time.
inline BuildPlan build_within(std::chrono::milliseconds deadline) { return {deadline, deadline}; }

class CandidateBuild {
 public:
  CandidateBuild(RecordRequest request, const BuildPlan& plan);

  BuildStage stage() const { return stage_; }
  // Returns the job to submit now; nothing when the build is done.
  std::optional<Job> next() const;
  // Takes the result of that job. A job whose worker failed is repeated as the plan says; the stage
  // then stays. If the device cannot run an autotuned kernel's configurations, the build starts
  // again with others, unless the request chooses them. In the k-th start after the first, every
  // tuning takes configuration k modulo its count.
  void take(const JobResult& result);

  // The latest recording; nothing before it is there.
  const std::optional<Recorded>& recorded() const { return recorded_; }
  // One for each kernel of the recording; none without a cache.
  const std::vector<std::string>& slices() const { return slices_; }
  // Why there is no task, and the stage whose job said so (kDone: there is no fault).
  const std::optional<JobFault>& fault() const { return outcome_.fault; }
  BuildStage failed_at() const { return failed_at_; }
  // Of a build that is done: exactly one of the two.
  JobOutcome<BuiltTask> outcome() && { return std::move(outcome_); }

 private:
  void take_recording(const JobResult& result);
  void take_slices(const JobResult& result);
  void take_kernels(const JobResult& result);
  void plan_compile();
  void finish(Task task, double compile_seconds);
  bool try_next_configurations();
  void fail(JobFault fault);

  RecordRequest request_;
  BuildPlan plan_;
  BuildStage stage_ = BuildStage::kRecord, failed_at_ = BuildStage::kDone;
  int failures_ = 0;           // of the present job
  bool chooses_ = false;       // the configurations are not the request's own
  size_t configurations_ = 0;  // the k of take()
  std::optional<Recorded> recorded_;
  std::vector<std::string> slices_;
  Task task_;                      // the recording, with what is known of its kernels
  std::vector<size_t> missing_;    // places of kernels that are to be compiled
  std::vector<std::string> keys_;  // of all kernels, in the cache
  JobOutcome<BuiltTask> outcome_;
};

// Runs a build up to `stage`, or to its end. No other job may be under way.
void run_build(Workers& workers, CandidateBuild& build, BuildStage stage = BuildStage::kDone);

// Records and compiles, each in a fresh child. Outcomes are in the order of `requests`; as many
// jobs run at once as the workers allow. No other job may be under way.
std::vector<JobOutcome<BuiltTask>> build_tasks(Workers& workers,
                                               const std::vector<RecordRequest>& requests,
                                               const BuildPlan& plan);
JobOutcome<BuiltTask> build_task(Workers& workers, const RecordRequest& request,
                                 const BuildPlan& plan);

}  // namespace kw
