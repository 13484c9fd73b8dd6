// The rounding errors of a sum in one fp32 accumulator, which is how kernels add up a matrix
// product in full precision, or a mean. Libraries split long sums where there are few results, and
// err less.
#pragma once

#include "executor/aten/aten.h"

namespace kw {

// Sums of fewer terms err no more in one accumulator than in a library's order.
constexpr double kLongSum = 1024;
// One accumulator's relative error is this times the root of the number of terms.
constexpr double kErrorPerRootTerm = 1.8e-8;

// `product` with errors as of one accumulator: of each element 1.8e-8 sqrt(terms) times its
// magnitude or, where its terms cancel, the root of `squares`, which is the same product of squared
// operands. Triton's dots on an H100 fit the factor from 64 to 16384 terms
// (bench/h100/numerics.json, IEEE fp32). Errors are normal, from a stretch of numbers that is
// always the same: no generator is drawn from.
at::Tensor summed_by_one_accumulator(const at::Tensor& product, const at::Tensor& squares,
                                     double terms);

// The relative error of a mean: a unit in the last place, as Triton's `/` is right to two of them.
constexpr double kMeanError = 0x1p-23;
// The relative error of a sum of so many numbers in one accumulator. Of equal numbers, whose
// roundings all go the same way, so of their mean, beyond kMeanError.
double accumulator_error(double terms);

}  // namespace kw
