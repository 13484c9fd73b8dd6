// The rounding errors of a sum in one fp32 accumulator. Kernels add up a matrix product in full
// precision, or a mean, in this way. Libraries split long sums if there are few results, and err
// less.
#pragma once

#include "executor/aten/aten.h"

namespace kw::exec {

// Sums of fewer terms err no more in one accumulator than in a library's order.
constexpr double kLongSum = 1024;
// The relative error of one accumulator is this times the root of the number of terms.
constexpr double kErrorPerRootTerm = 1.8e-8;

// Returns `product` with the errors of one accumulator. `squares` is the same product of squared
// operands. The error of an element is 1.8e-8 sqrt(terms) times its magnitude or, if its terms
// cancel, times the root of its element of `squares`. Triton's dots on an H100 fit the factor from
// 64 to 16384 terms (bench/h100/numerics.json, IEEE fp32). Errors are normal. They come from a
// fixed stretch of numbers and not from a generator.
at::Tensor summed_by_one_accumulator(const at::Tensor& product, const at::Tensor& squares,
                                     double terms);

// The relative error of a mean is a unit in the last place, as Triton's `/` is right to two of
// them.
constexpr double kMeanError = 0x1p-23;
// Returns the relative error of a sum of `terms` numbers in one accumulator. If the numbers are
// equal, their roundings all go the same way, and their mean has this error in addition to
// kMeanError.
double accumulator_error(double terms);

}  // namespace kw::exec
