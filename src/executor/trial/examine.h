// Examines a task alone, without any candidate (protocol.h, ExamineReport). It looks at the results
// in the task's precision and in fp64, on perturbed inputs, and with one tensor at a time drawn
// again. For one thread.
#pragma once

#include "executor/aten/backend.h"
#include "executor/replay/loaded_task.h"
#include "runtime/protocol.h"

namespace kw::exec {

// Runs the program 4 times, and once for each tensor of its state and inputs.
ExamineReport examine(const ExamineRequest& request, LoadedTask& task, Backend& backend);

}  // namespace kw::exec
