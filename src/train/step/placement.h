// Where models are, and in which numbers.
#pragma once

#include <ATen/ATen.h>

#include <string>

namespace kw {

// "cuda": bfloat16 there; "cpu": float32; "auto": a GPU where there is one. InputError for what is
// none of these, EnvironmentError where there is no GPU.
at::TensorOptions placed(const std::string& device);

}  // namespace kw
