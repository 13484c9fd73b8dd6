// Computes compare() by one kernel, compiled at run time by the NVRTC that comes with PyTorch.
#pragma once

#include <optional>

#include "executor/compare/compare.h"

namespace kw::exec {

// Returns nothing for dtypes that the kernel does not have (integers), or if it cannot be compiled.
std::optional<Comparison> compare_on_cuda(const at::Tensor& got, const at::Tensor& expected,
                                          const at::Tensor& oracle, bool sections);

}  // namespace kw::exec
