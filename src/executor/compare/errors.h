// Measures how far outputs are from each other, from the sums of compare.h. It works on the device
// of the candidate's output; the other tensors may live on the host.
#pragma once

#include "executor/aten/aten.h"
#include "program/program.h"
#include "runtime/protocol.h"

namespace kw::exec {

// Errors of `got` against the fp64 `oracle`, over elements finite in both. They are relative to the
// oracle's RMS, or absolute if that is zero.
struct ErrorSums {
  double rms = 0, worst = 0;
  double oracle_rms = 0, oracle_max = 0;
  int64_t finite_in_both = 0, finite_oracle = 0;  // elements
  bool finite = true;                             // no NaN, and infinite only where the oracle is
};
ErrorSums error_against(const at::Tensor& got, const at::Tensor& oracle, at::Device device);

// Returns the errors that the reference alone decides: reference_*, oracle_*, finite, elements.
OutputErrors reference_errors(const at::Tensor& reference, const at::Tensor& oracle,
                              at::Device device);
// Adds the errors that the candidate decides. Shapes and dtypes must agree.
void candidate_errors(const at::Tensor& candidate, const at::Tensor& reference,
                      const at::Tensor& oracle, OutputErrors& errors);

// Measures the cross-sections again, against the errors of another run of the reference. If
// `ties_flipped` is defined, twice its error is allowed where that is more.
void section_errors(const at::Tensor& candidate, const at::Tensor& reference,
                    const at::Tensor& ties_flipped, const at::Tensor& oracle, OutputErrors& errors);

// Replaces the error of the worst cross-section by that of the elements of magnitude below `gap`
// (scales.h), if that is worse.
void small_errors(const at::Tensor& candidate, const at::Tensor& reference,
                  const at::Tensor& oracle, double gap, OutputErrors& errors);

// Returns whether all bytes are equal: NaN equals the same NaN, and 0 is not -0. Shapes must agree.
bool bit_equal(const at::Tensor& a, const at::Tensor& b);
// Returns RMS(a - b) / RMS(b) over finite elements. Returns infinity if the non-finite ones differ,
// or if integers differ at all.
double distance(const at::Tensor& a, const at::Tensor& b);

// What an update in place is held to, together with what the reference made of it.
struct UpdateOracle {
  at::Tensor exact;  // the updated tensor in float64
  double error = 0;  // the reference's RMS error against `exact`
};
// Returns the RMS of `after`, which a run left, less `exact`, over elements that are finite in
// both.
double update_error(const at::Tensor& after, const at::Tensor& exact);

// Returns whether `got` is updated as `expected` is; both were made from `before` in place.
//
// - RMS(got - exact) is at most four times the reference's, or five units in the last place of
//   RMS(expected - before), plus the rounding of a few operations on what changed. So an update
//   that is small compared with the tensor, or that changes little of it, cannot be left out.
// - An element may be off by a tenth of the RMS change of those that change, or by a thousandth if
//   it does not change, plus the rounding. So no element can be left out, or written where nothing
//   changes.
// - An element that is left as before must be expected to stay, apart from the last place. One that
//   stays in the reference and in fp64 must stay bit for bit.
// - Each cross-section is also held to its own change (cross_sections.h).
//
// Integers must be equal. Non-finite elements, shapes and dtypes must agree.
bool updated_alike(const at::Tensor& got, const at::Tensor& expected, const at::Tensor& before,
                   const UpdateOracle& oracle);

// Returns how recorded dtype or shape differ, or that only the candidate's elements share memory.
// Returns an empty text if there is no such difference. Other strides are not compared.
std::string meta_difference(const Value& candidate, const Value& reference);

// Returns whether two elements may have the same address, because some dimension's stride is within
// the reach of those with smaller strides.
bool overlaps(at::IntArrayRef sizes, at::IntArrayRef strides);

}  // namespace kw::exec
