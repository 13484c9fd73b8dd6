// The same program with the biases of its convolutions added by steps of their own: one of its
// forms, made of PyTorch steps alone.
//
// cuDNN's convolutions as PyTorch calls them add no bias: it costs another pass over the result.
// As a step it can become part of whatever kernel comes next.
#pragma once

#include <optional>
#include <string>

#include "search/form/forms.h"

namespace kw {

// nullopt when no float32 convolution with a constant bias is there, or when the rewritten program
// cannot be recorded. Half types stay: they would be rounded once more.
std::optional<Task> biases_apart(const Task& task, const RecordAgain& record_again);

}  // namespace kw
