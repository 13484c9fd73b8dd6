// Whose fault it is that a worker failed.
//
// A candidate runs inside of its worker and can have it say what it likes, also that the worker
// failed, or end it as a machine without memory would. Believed, that would be a way out of every
// verdict. So a job that failed, and failed again in a fresh worker, is tried against a plain
// program: where that one is recorded and compiled, the job's own program is at fault.
#pragma once

#include "worker/jobs.h"

namespace kw {

// `fault` as it is when it is nobody's but the program's already, or when a plain program fails
// too (EnvironmentError when no worker starts at all); else the program's fault: a refusal with the
// code "failed".
JobFault blamed(WorkerPool& pool, const DeviceProfile& profile, JobFault fault);

// build_task(), again where a worker failed, and then blamed().
JobOutcome<BuiltTask> build_and_blame(WorkerPool& pool, const RecordRequest& request,
                                      std::chrono::milliseconds deadline);

}  // namespace kw
