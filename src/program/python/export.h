// optimized.py: a Task as readable PyTorch and Triton source that needs neither Kernelwright nor
// its record to run.
#pragma once

#include <string>

#include "program/program.h"

namespace kw {

// The user's source, the kernels, and `class ModelNew(<reference class>)` whose forward replays
// `task.forward` when shapes, dtypes and strides match the recorded ones and otherwise runs the
// original. record(export_python(T)) has T's canonical hash. InputError when the task holds state
// that no attribute path reaches.
std::string export_python(const Task& task, const std::string& user_source);

}  // namespace kw
