// Judges many candidates of many references side by side. A crew of threads, each with a separate
// worker, records and compiles. Trials and times run one after the other on the executor, whose
// device so never waits for Python.
//
// Nothing is judged twice. Candidates with the same text for the same reference are one job.
// Candidates whose recorded programs and slices are the same get the verdict of the first. Kernels
// that candidates have in common are compiled once. The executor keeps a reference, its answers and
// its fp64 run while candidates of it are left.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verify/batch/crew.h"
#include "verify/verifier.h"

namespace kw {

struct BatchItem {
  std::string id;
  RecordRequest reference, candidate;
  // The reference, if it is a Task already (a fragment); then `reference` is not read.
  std::shared_ptr<const Task> task;
  std::string settings;  // what else decides the verdict: flags, backend
  // torch.compile's version of the reference, which is timed together with it; the same for all
  // items of one reference. Empty: that of VerifyOptions.
  std::string compiled_package;

  // Tells whether a result in a file belongs to this item.
  std::string digest() const;
};

// As of a verdict, or a fault of the reference: nothing can be judged with it.
enum class BatchOutcome { kAccepted, kRejected, kNotJudged, kFault };
std::string_view outcome_name(BatchOutcome outcome);

struct BatchResult {
  const BatchItem* item = nullptr;
  Verdict verdict;
  std::shared_ptr<const Task> program;  // of an accepted candidate: as it was built
  std::string fault;  // of the reference, which nothing can be judged with; no verdict then
  // Of a candidate in the sample (VerifyOptions::record_again): why its export, when it is
  // recorded, is not the program that was judged. Empty: it is.
  std::optional<std::string> recorded_again;
  std::string same_as;  // id of the item whose verdict this is; empty: its own
  double seconds = 0;   // wall time from the start of its recording to its verdict
  double finished = 0;  // from the start of the batch

  BatchOutcome outcome() const;
};
BatchOutcome batch_outcome_from_json(const JsonReader& in);  // of a result; InputError

Json to_json(const BatchResult& result);

// How many exports were recorded again, and how many gave the program that was judged. Less than
// all is a fault of this program.
struct RecordedAgain {
  size_t count = 0, equal = 0;
  // Counts a result, as to_json() wrote it.
  void add(const Json& line);
};

// How many candidates ran under compute-sanitizer. In how many it found something, and how many did
// not run to their end.
struct Sanitized {
  size_t count = 0, found = 0, failed = 0;
  // Counts a result, as to_json() wrote it.
  void add(const Json& line);
};

// Calls `done` with each result as it comes, in no order, from one thread at a time. Throws
// EnvironmentError if the machine is at fault; the remaining items then have no result.
void verify_batch(const std::vector<BatchItem>& items, JudgingCrew& crew, Executor& executor,
                  const DeviceProfile& profile, const VerifyOptions& options,
                  const std::function<void(const BatchResult&)>& done);

}  // namespace kw
