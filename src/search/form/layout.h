// A form of a program with its convolutions in channels-last layout. All steps are PyTorch's.
//
// cuDNN's tensor-core kernels work on channels-last tensors and otherwise convert their operands in
// every call. This form converts inputs of convolutions that are not in that layout yet, and
// weights once, in `derive`. It converts results of the program back to the layout that the caller
// knows.
#pragma once

#include <optional>

#include "search/form/forms.h"

namespace kw {

// Returns nullopt if there is no 2d or 3d convolution, if nothing would change, or if the rewritten
// program cannot be recorded.
std::optional<Task> channels_last(const Task& task, const RecordAgain& record_again);

}  // namespace kw
