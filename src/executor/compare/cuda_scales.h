// What scale_gap() counts, as one kernel compiled at run time by the NVRTC that comes with PyTorch.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "executor/aten/aten.h"

namespace kw {

// How many of a float64 tensor's numbers have each exponent e, of m 2^e with 0.5 <= |m| < 1: at
// place e + `zero` of so many. Zeros, NaN and infinities do not count. Nothing for other dtypes,
// and where the kernel cannot be compiled.
std::optional<std::vector<int64_t>> count_exponents_on_cuda(const at::Tensor& numbers, int zero,
                                                            int places);

}  // namespace kw
