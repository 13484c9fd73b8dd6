// The jobs of a worker as typed calls: requests out of Programs, checked replies back in.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "program/program.h"
#include "worker/device_profile.h"
#include "worker/workers.h"

namespace kw {

// What to record. `text` is the file's content, so that later changes of the file have no effect.
struct RecordRequest {
  std::string text;
  std::string file;              // display name
  std::filesystem::path folder;  // for the file's own imports; empty: none
  std::string modules;           // modules_digest() of what it may import there, of batches alone
  std::string cls = "Model";
  DeviceProfile profile;
  // The reference's file, whose get_inputs and get_init_inputs a candidate is called with; empty:
  // the file's own.
  std::string harness_text, harness_file;
  std::vector<Value> inputs;         // of a fragment: metadata of the arguments of forward
  bool fragment = false;             // take `inputs` and construct the class without arguments
  std::vector<std::string> without;  // codes that are not refused, for selftest alone
  // Which configuration each tuning takes, by index; the first for tunings that are not listed.
  std::vector<int> configurations;
  // Which plain numbers among the arguments of forward become others; kOne: that at `number`, as
  // they are counted in order.
  enum class OtherNumbers { kNone, kFloats, kAll, kOne } numbers = OtherNumbers::kNone;
  int number = 0;
};

// How many of a candidate's Programs are built that differ in their kernels' configurations.
inline constexpr size_t kMostConfigurations = 64;

// An autotuned kernel under one key: Triton chooses one of several configurations for it.
struct Tuning {
  std::string kernel;
  std::vector<std::string> configurations;  // for people: "BLOCK=128, num_warps=4"
  bool operator==(const Tuning&) const = default;
};

// Returns the request for a source that is to replace a fragment with this forward program.
RecordRequest proposal_request(const Program& forward, const std::string& source,
                               const DeviceProfile& profile);

// A refused, failed, timed out, killed or flooded job, for people and for verdicts.
struct JobFault {
  JobResult::Status status;
  std::string code, message, file;
  int line = 0;
  std::string job;  // "record", "slice", "compile", ...; empty before the first
  // "file.py:12: message [code]"
  std::string text() const;
  // Returns whether a kernel compiles, but not for this device. Triton's autotuner passes over such
  // a configuration.
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

// Returns the fault of a worker whose answer to a job ("record", "compile") is whole but makes no
// sense.
JobFault invalid_answer(const char* job, const std::string& what, const RecordRequest& request);

// Returns what keeps a file from being recorded at all: a job's text must be UTF-8.
std::optional<JobFault> text_fault(const RecordRequest& request);
Job record_job(const RecordRequest& request, std::chrono::milliseconds deadline);
JobOutcome<Recorded> record_result(const JobResult& result, const RecordRequest& request);

// Records texts that this program wrote itself, `a_job` of them in one child, because starting a
// child takes ten times as long as recording such a text. Must not record a stranger's text, which
// could change what is made of the next one. As many children run at once as the workers allow.
// Outcomes are in the order of `requests`, which have class and profile in common. No other job may
// be under way.
std::vector<JobOutcome<Recorded>> record_own(Workers& pool,
                                             const std::vector<RecordRequest>& requests,
                                             size_t a_job, std::chrono::milliseconds deadline);

// What replaces a file with an operator and a test of it (worker/operator_test.py).
struct AdaptedTest {
  std::string model;      // the model file
  std::string name;       // the operator's
  std::string candidate;  // a class ModelNew whose forward calls the operator as the tests do
};
// Adapts files, as many at once as the workers allow. Outcomes are in the order of `tests`. No
// other job may be under way.
std::vector<JobOutcome<AdaptedTest>> adapt_tests(Workers& pool,
                                                 const std::vector<RecordRequest>& tests,
                                                 std::chrono::milliseconds deadline);

// Returns the file's text without a class, such as a candidate's, and without what it alone uses
// (worker/cutting.py). It is the file's text if there is no such class. The other lines are as they
// were. A fault if the class of `request` uses it. No other job may be under way.
JobOutcome<std::string> text_without(Workers& workers, const RecordRequest& request,
                                     const std::string& cls, std::chrono::milliseconds deadline);

// A slice is a kernel's source alone: what it needs of its file.
Job slice_job(const Recorded& recorded, const RecordRequest& request,
              std::chrono::milliseconds deadline);
// Returns one slice for each kernel of the task.
JobOutcome<std::vector<std::string>> slice_result(const JobResult& result, const Recorded& recorded,
                                                  const RecordRequest& request);

// Compiles the kernels of the task at `places`.
Job compile_job(const Recorded& recorded, const std::vector<size_t>& places,
                const RecordRequest& request, std::chrono::milliseconds deadline);
// Returns these kernels with slices and machine code.
JobOutcome<std::vector<Kernel>> compiled_kernels(const JobResult& result, const Recorded& recorded,
                                                 const std::vector<size_t>& places,
                                                 const RecordRequest& request);
// Returns the task, with its premises, if it is a valid one that the device of `request` can run. A
// fault that cannot_run() when a kernel needs more shared memory than the device has.
JobOutcome<Task> runnable_task(Task task, const RecordRequest& request);

// How a file is run in plain Python (worker/plain.py). The data depends on the seed and the
// reference alone.
struct RunPlan {
  std::string reference_class;
  std::vector<std::pair<std::string, std::string>> weights;  // own name, the reference's
  uint64_t seed = 0;
};
// What a file did, as its worker says: nothing here has been looked at.
struct PlainRun {
  Json calls;
  std::vector<std::string> blobs;
  std::string raised;  // what ended the run before its last call; empty: nothing
};
Job run_job(const RecordRequest& request, const RunPlan& plan, std::chrono::milliseconds deadline);
JobOutcome<PlainRun> run_result(const JobResult& result, const RecordRequest& request);

// Compares the calls of `theirs` with the first calls of `ours`. The result is the first
// difference as one line, or empty.
Job compare_job(const PlainRun& ours, const PlainRun& theirs, std::chrono::milliseconds deadline);
JobOutcome<std::string> compare_result(const JobResult& result, const RecordRequest& request);

// A task with slices and machine code, and how it was built.
struct BuiltTask {
  Task task;
  double record_seconds = 0, compile_seconds = 0;
  std::vector<std::string> warnings;
  std::vector<Tuning> tunings;
  std::vector<int> configurations;  // which it was built with, one for each tuning
};

}  // namespace kw
