// What a task is by itself, without any candidate (protocol.h, ExamineReport): its results in its
// own precision and in fp64, on inputs that are off by a unit, and with one tensor drawn anew at a
// time. One thread.
#pragma once

#include "executor/aten/backend.h"
#include "executor/replay/loaded_task.h"
#include "runtime/protocol.h"

namespace kw {

// Takes 4 runs of the program and one for each tensor of its state and inputs.
ExamineReport examine(const ExamineRequest& request, LoadedTask& task, Backend& backend);

}  // namespace kw
