// Whose fault it is that a worker failed.
//
// A candidate runs inside its worker. It can make the worker say that it failed, or end it as a
// machine without memory would. If this were believed, it would be a way out of every verdict. So
// when a job failed again in a fresh worker, a plain program is built. If that succeeds, the job's
// program is at fault.
#pragma once

#include "verify/candidate_build.h"

namespace kw {

// Returns `fault` unchanged if it is the program's already, or if a plain program fails too.
// Otherwise returns the program's fault, a refusal with the code "failed". Throws EnvironmentError
// if no worker starts at all.
JobFault blamed(Workers& workers, const DeviceProfile& profile, JobFault fault);

// Builds a task, repeating once a job whose worker failed, and then says who is to blame.
JobOutcome<BuiltTask> build_and_blame(Workers& workers, const RecordRequest& request,
                                      BuildPlan plan);

}  // namespace kw
