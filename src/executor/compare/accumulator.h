// The rounding errors of a sum in one fp32 accumulator. Kernels add up a matrix product in full
// precision, or a mean, in this way. Libraries split long sums if there are few results, and err
// less.
#pragma once

#include "executor/aten/aten.h"

namespace kw::exec {

// Sums of fewer terms err no more in one accumulator than in a library's order.
constexpr double kLongSum = 1024;
// Kernels add sums, means and norms in lanes. Longer ones get no such error: it would hide one of
// equal terms that is missing.
constexpr double kLongestSum = 0x1p16;
// Their error is measured up to here (bench/h100/numerics.json), and nothing on a GPU adds more one
// by one.
constexpr double kMostInARow = 0x1p14;
// The relative error of one accumulator is this times the root of the number of terms.
constexpr double kErrorPerRootTerm = 1.8e-8;

// Returns `product` with the errors of one accumulator. `squares` is the same product of squared
// operands. The error of an element is 1.8e-8 sqrt(terms) times its magnitude or, if its terms
// cancel, times the root of its element of `squares`. Triton's dots on an H100 fit the factor from
// 64 to 16384 terms (bench/h100/numerics.json, IEEE fp32). Errors are normal. They come from a
// fixed stretch of numbers and not from a generator.
at::Tensor summed_by_one_accumulator(const at::Tensor& product, const at::Tensor& squares,
                                     double terms);

// Does the same for a sum, or a mean, of `terms` numbers (a tensor that broadcasts) and the sum of
// their squares; for a mean, that of the squares of the numbers over `terms`. If the numbers are
// equal, the sum loses up to half a unit of itself each time, always the same way until it doubles.
// That is at most 4/3 terms 2^-25 of the result, and 1/sqrt(3) of it in the mean square.
at::Tensor added_one_by_one(const at::Tensor& sum, const at::Tensor& squares,
                            const at::Tensor& terms);

// The relative error of a mean is a unit in the last place, as Triton's `/` is right to two of
// them.
constexpr double kMeanError = 0x1p-23;
// Returns the relative error of a sum of `terms` numbers in one accumulator. If the numbers are
// equal, their roundings all go the same way, and their mean has this error in addition to
// kMeanError.
double accumulator_error(double terms);

}  // namespace kw::exec
