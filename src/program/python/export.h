// optimized.py: a Task as readable PyTorch and Triton source that needs neither Kernelwright nor
// its record to run. The writer is a boundary: a Task may have been made of a stranger's file.
// What it writes is the user's text, the kernels' slices, and statements of a few forms. Every
// name, option and constant in these is checked or quoted (checked_names.h, python_text.h);
// operators are rows of the one table.
#pragma once

#include <string>

#include "program/program.h"

namespace kw {

// The user's source, the kernels, and `class ModelNew(<reference class>)` whose forward replays
// `task.forward` when shapes, dtypes and strides match the recorded ones and otherwise runs the
// original. record(export_python(T)) has T's canonical hash. `task` has passed check_task().
//
// InputError for what must not be written (checked_names.h, checked_text.h, slice_text.h), and when
// the task holds state that no attribute path reaches.
std::string export_python(const Task& task, const std::string& user_source);

}  // namespace kw
