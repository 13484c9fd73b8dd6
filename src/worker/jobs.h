// The jobs of a worker as typed calls: requests out of Programs, checked replies back in.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "program/program.h"
#include "worker/device_profile.h"
#include "worker/kernel_cache.h"
#include "worker/worker_pool.h"

namespace kw {

// What to record. `text` is the file's content (so that what is judged cannot change underfoot).
struct RecordRequest {
  std::string text;
  std::string file;              // display name
  std::filesystem::path folder;  // for the file's own imports; empty: none
  std::string cls = "Model";
  DeviceProfile profile;
  // The reference's file, whose get_inputs and get_init_inputs a candidate is called with; empty:
  // the file's own.
  std::string harness_text, harness_file;
  std::vector<Value> inputs;         // of a fragment: metadata of the arguments of forward
  bool fragment = false;             // take `inputs` and construct the class without arguments
  std::vector<std::string> without;  // codes that are not refused, for selftest alone
  // Which configuration each tuning takes, by index; the first where nothing is said.
  std::vector<int> configurations;
};

// Of a candidate's Programs that differ in their kernels' configurations, so many are looked at.
inline constexpr size_t kMostConfigurations = 64;

// An autotuned kernel under one key: Triton chooses one of several configurations for it.
struct Tuning {
  std::string kernel;
  std::vector<std::string> configurations;  // for people: "BLOCK=128, num_warps=4"
  bool operator==(const Tuning&) const = default;
};

// The request for a source that is to stand for a fragment with this forward program.
RecordRequest proposal_request(const Program& forward, const std::string& source,
                               const DeviceProfile& profile);

// A refused, failed, timed out, killed or flooded job, for people and for verdicts.
struct JobFault {
  JobResult::Status status;
  std::string code, message, file;
  int line = 0;
  // "file.py:12: message [code]"
  std::string text() const;
  // Whether a kernel compiles, but not for this device. Triton's autotuner passes over such a
  // configuration.
  bool cannot_run() const;
};

struct Recorded {
  Task task;           // kernels have no source or machine code yet
  Json raw_kernels;    // for compile
  double seconds = 0;  // inside the child
  std::vector<std::string> warnings;
  std::vector<Tuning> tunings;  // in order of first launch; empty: there is nothing to choose
};

template <class T>
struct JobOutcome {
  std::optional<T> value;
  std::optional<JobFault> fault;  // exactly one of the two
};

// The result of a job that depends on its request alone (all but `interpret`, which writes to
// buffers): made again, once, where the worker or the machine failed; the memory that ran out may
// have been another's.
JobResult run_job(WorkerPool& pool, const Job& job);

// What keeps a file from being recorded at all: a job's text must be UTF-8.
std::optional<JobFault> text_fault(const RecordRequest& request);
Job record_job(const RecordRequest& request, std::chrono::milliseconds deadline);
JobOutcome<Recorded> record_result(const JobResult& result, const RecordRequest& request);

// Records texts that this program wrote itself, `a_job` of them in one child, as far in parallel as
// the pool goes: starting a child takes ten times as long as recording such a text. Not for a
// stranger's, who could change what is made of the next. Outcomes in the order of `requests`, which
// have class and profile in common. No other job may be under way.
std::vector<JobOutcome<Recorded>> record_own(WorkerPool& pool,
                                             const std::vector<RecordRequest>& requests,
                                             size_t a_job, std::chrono::milliseconds deadline);

// What stands for a file with an operator and a test of it (worker/operator_test.py).
struct AdaptedTest {
  std::string model;      // the model file
  std::string name;       // the operator's
  std::string candidate;  // a class ModelNew whose forward calls the operator as the tests do
};
// In the order of `tests`, as far in parallel as the pool goes. No other job may be under way.
std::vector<JobOutcome<AdaptedTest>> adapt_tests(WorkerPool& pool,
                                                 const std::vector<RecordRequest>& tests,
                                                 std::chrono::milliseconds deadline);

// The kernels' sources alone, one for each kernel of the task.
JobOutcome<std::vector<std::string>> slice_kernels(WorkerPool& pool, const Recorded& recorded,
                                                   const RecordRequest& request,
                                                   std::chrono::milliseconds deadline);

Job compile_job(const Recorded& recorded, const RecordRequest& request,
                std::chrono::milliseconds deadline);
// The task with slices and machine code filled in. A fault that cannot_run() when a kernel needs
// more shared memory than the device of `request` has.
JobOutcome<Task> compile_result(const JobResult& result, const Recorded& recorded,
                                const RecordRequest& request);
// The same for slices that are known, one for each kernel: only those are compiled that `cache`
// does not have, and it has them afterwards.
JobOutcome<Task> compile_sliced(WorkerPool& pool, KernelCache& cache, const Recorded& recorded,
                                const std::vector<std::string>& slices,
                                const RecordRequest& request, std::chrono::milliseconds deadline);

// record, then compile, each in a fresh child. With no launches nothing is compiled. `deadline` is
// each job's own. Where the request chooses no configurations and the device cannot run the first
// ones, the next are tried: every tuning takes configuration k modulo its count.
struct BuiltTask {
  Task task;
  double record_seconds = 0, compile_seconds = 0;
  std::vector<std::string> warnings;
  std::vector<Tuning> tunings;
  std::vector<int> configurations;  // which it was built with, one for each tuning
};
JobOutcome<BuiltTask> build_task(WorkerPool& pool, const RecordRequest& request,
                                 std::chrono::milliseconds deadline);
// The same for many, as far in parallel as the pool goes; outcomes in the order of `requests`. No
// other job may be under way.
std::vector<JobOutcome<BuiltTask>> build_tasks(WorkerPool& pool,
                                               const std::vector<RecordRequest>& requests,
                                               std::chrono::milliseconds deadline);

}  // namespace kw
