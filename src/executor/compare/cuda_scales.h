// Counts for scale_gap() by one kernel, compiled at run time by the NVRTC that comes with PyTorch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "executor/aten/aten.h"

namespace kw::exec {

// Counts how many of a float64 tensor's numbers m 2^e, 0.5 <= |m| < 1, have each exponent e. The
// count for e is at place e + `zero` of `places`. Zeros, NaN and infinities do not count. Returns
// nothing for other dtypes, or if the kernel cannot be compiled.
std::optional<std::vector<int64_t>> count_exponents_on_cuda(const at::Tensor& numbers, int zero,
                                                            int places);

}  // namespace kw::exec
