// A form of a program in which separate steps add the biases of its convolutions. All steps are
// PyTorch's.
//
// As PyTorch calls them, cuDNN's convolutions add no bias: it costs another pass over the result.
// As a separate step, the addition can become part of the kernel that comes next.
#pragma once

#include <optional>
#include <string>

#include "search/form/forms.h"

namespace kw {

// Returns nullopt if there is no float32 convolution with a constant bias, or if the rewritten
// program cannot be recorded. Convolutions of half types stay: they would be rounded once more.
std::optional<Task> biases_apart(const Task& task, const RecordAgain& record_again);

}  // namespace kw
