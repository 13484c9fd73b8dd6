// The same program with its convolutions in channels-last layout: one of its forms, made of PyTorch
// steps alone.
//
// cuDNN's tensor-core kernels work on channels-last tensors and otherwise convert their operands in
// every call. Here the inputs of convolutions are converted where they are not in that layout yet,
// weights once (in `derive`), results of the program back to the layout that the caller knows.
#pragma once

#include <optional>

#include "search/form/forms.h"

namespace kw {

// nullopt when no 2d or 3d convolution is there, when nothing would change, or when the rewritten
// program cannot be recorded.
std::optional<Task> channels_last(const Task& task, const RecordAgain& record_again);

}  // namespace kw
