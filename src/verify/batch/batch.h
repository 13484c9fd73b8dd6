// Many candidates of many references, judged side by side: recording and compiling by a crew of
// threads, each with a worker of its own; trials and times one after the other on the executor,
// whose device so never waits for Python.
//
// Nothing is judged twice. Candidates with the same text for the same reference are one job; those
// whose recorded programs and slices are the same get the verdict of the first; kernels that
// candidates have in common are compiled once; a reference, its answers and its fp64 run are kept
// by the executor while candidates of it are left.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "verify/batch/crew.h"
#include "verify/verifier.h"

namespace kw {

struct BatchItem {
  std::string id;
  RecordRequest reference, candidate;
  // The reference, where it is a Task already (a fragment); `reference` is not looked at then.
  std::shared_ptr<const Task> task;
  std::string settings;  // what else decides the verdict: flags, backend
  // torch.compile's version of the reference, to be timed beside it; the same for all items of one
  // reference. Empty: VerifyOptions' own.
  std::string compiled_package;

  // Tells whether a result that stands in a file belongs to this item.
  std::string digest() const;
};

struct BatchResult {
  const BatchItem* item = nullptr;
  Verdict verdict;
  std::shared_ptr<const Task> program;  // of an accepted candidate: as it was built
  std::string fault;    // of the reference, which nothing can be judged with; no verdict then
  std::string same_as;  // id of the item whose verdict this is; empty: its own
  double seconds = 0;   // wall time from the start of its recording to its verdict
  double finished = 0;  // from the start of the batch
};

Json to_json(const BatchResult& result);

// Calls `done` with each result as it comes, in no order, from one thread at a time.
// EnvironmentError when the machine is at fault: what is not done then stays undone.
void verify_batch(const std::vector<BatchItem>& items, JudgingCrew& crew, ExecutorClient& executor,
                  const DeviceProfile& profile, const VerifyOptions& options,
                  const std::function<void(const BatchResult&)>& done);

}  // namespace kw
