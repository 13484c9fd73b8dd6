// The same program with its convolutions in channels-last layout: proposals like any other, made of
// PyTorch steps alone, from which the search then starts a second time.
//
// cuDNN's tensor-core kernels work on channels-last tensors and otherwise convert their operands in
// every call. Here the inputs of convolutions are converted where they are not in that layout yet,
// weights once (in `derive`), results of the program back to the layout that the caller knows.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "program/program.h"

namespace kw {

// Records exported source text: strides of all values follow from PyTorch's own rules for layouts.
using RecordText = std::function<std::optional<Task>(const std::string& text)>;

// nullopt when no 2d or 3d convolution is there, when nothing would change, or when the rewritten
// program cannot be recorded. `user_source` is the file that `task` was recorded from.
std::optional<Task> channels_last(const Task& task, const std::string& user_source,
                                  const RecordText& record);

}  // namespace kw
