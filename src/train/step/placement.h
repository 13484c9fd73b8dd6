// The device that a model is on, and the type of its numbers.
#pragma once

#include <ATen/ATen.h>

#include <string>

namespace kw::train {

// Returns bfloat16 on a GPU for "cuda", float32 for "cpu"; "auto" takes a GPU if there is one.
// Throws InputError for another name, and EnvironmentError for "cuda" without a GPU.
at::TensorOptions placed(const std::string& device);

}  // namespace kw::train
