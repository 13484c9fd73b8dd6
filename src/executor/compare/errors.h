// How far outputs are from one another (compare.h does the sums), on the device of the candidate's
// output; the other tensors may live on the host.
#pragma once

#include "executor/aten/aten.h"
#include "program/program.h"
#include "runtime/protocol.h"

namespace kw {

// Errors of `got` against the fp64 `oracle`, over elements finite in both. Relative to the
// oracle's RMS; where that is zero, absolute.
struct ErrorSums {
  double rms = 0, worst = 0;
  double oracle_rms = 0, oracle_max = 0;
  int64_t finite_in_both = 0, finite_oracle = 0;  // elements
  bool finite = true;                             // no NaN, and infinite only where the oracle is
};
ErrorSums error_against(const at::Tensor& got, const at::Tensor& oracle, at::Device device);

// Fills what the reference alone decides: dtype, reference_*, oracle_*.
OutputErrors reference_errors(const at::Tensor& reference, const at::Tensor& oracle,
                              at::Device device);
// Adds what the candidate decides. Shapes and dtypes must agree.
void candidate_errors(const at::Tensor& candidate, const at::Tensor& reference,
                      const at::Tensor& oracle, OutputErrors& errors);

// The cross-sections anew, held to another run of the reference; and to twice the error of `fallen`
// where it is defined and that is more.
void section_errors(const at::Tensor& candidate, const at::Tensor& reference,
                    const at::Tensor& fallen, const at::Tensor& oracle, OutputErrors& errors);

// The error of the elements of magnitude below `gap` (scales.h) in the place of the worst
// cross-section's, where it is worse.
void small_errors(const at::Tensor& candidate, const at::Tensor& reference,
                  const at::Tensor& oracle, double gap, OutputErrors& errors);

// Equal bytes, element by element (NaN equals the same NaN, 0 is not -0). Shapes must agree.
bool bit_equal(const at::Tensor& a, const at::Tensor& b);
// RMS(a - b) / RMS(b) over finite elements; infinite when the non-finite ones differ, or when
// integers differ at all.
double distance(const at::Tensor& a, const at::Tensor& b);

// What an update in place is held to beside what the reference made of it.
struct UpdateOracle {
  at::Tensor exact;  // what float64 makes of it
  double error = 0;  // RMS of what the reference made, less `exact`
};
// RMS of what a run left, less `exact`, over elements that are finite in both.
double update_error(const at::Tensor& after, const at::Tensor& exact);

// Whether `got` is what `expected` is, each made of `before` in place: what stays in the reference
// and in fp64 is left bit for bit, RMS(got - exact) is at most four times the reference's, or five
// units in the last place of RMS(expected - before), and the rounding of a few operations on what
// changed. So an update that is small beside the tensor, or that changes little of it, cannot be
// left out. Nor can one element be left out, or written where nothing changes: an element may be
// off by a tenth of the RMS change of those that change, by a thousandth where it does not, and by
// the rounding; and what is as before must be expected to be, but for the last place. Each
// cross-section is held to its own change too (sections.h).
// Bits of integers; non-finite elements must agree. Shapes and dtypes must too.
bool updated_alike(const at::Tensor& got, const at::Tensor& expected, const at::Tensor& before,
                   const UpdateOracle& oracle);

// "contiguous, contiguous" style comparison of recorded metadata; empty when equal. Strides count
// by class only: the order of dimensions larger than 1 and whether they are dense.
std::string meta_difference(const Value& candidate, const Value& reference);

// Whether two elements may lie in one place: some dimension's step is within the reach of smaller
// ones.
bool overlaps(at::IntArrayRef sizes, at::IntArrayRef strides);

}  // namespace kw
