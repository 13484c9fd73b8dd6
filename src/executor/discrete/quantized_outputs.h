// Quantized outputs: integers that represent numbers, and answers of comparisons. A number may be
// nearer to the discontinuity of its rounding than its own error. Then the integers on both sides
// are right.
#pragma once

#include "executor/discrete/index_outputs.h"

namespace kw::exec {

// Returns output `position` as a quantized output with what was rounded as its source, or nothing.
// A quantized output is made from floating numbers by rounding, cutting or conversion, or from
// computed ones by comparison. After that, only operators follow that give integers from integers,
// element by element.
std::optional<DiscreteOutput> find_quantized_output(const Program& program, size_t position);

// Returns how far from a discontinuity an element may be to count as a near tie. This is eight
// times the worst difference of `reference` and `oracle`, which are the numbers before rounding.
// Has the shape of `oracle`. Zero if no earlier operation rounded.
at::Tensor quantized_tolerance(Discontinuity discontinuity, const at::Tensor& reference,
                               const at::Tensor& oracle);

// Counts wrong elements of `got`. An element is right if it equals `expected` or `exact`, which is
// `rounded` quantized in float64. If `rounded` is within `tolerance` of a discontinuity, the
// integer on its other side is right too. If `got` differs from `exact` in many more elements than
// `expected` does, all elements that differ from `expected` are wrong.
int64_t wrong_quantized(Discontinuity discontinuity, const at::Tensor& rounded,
                        const at::Tensor& tolerance, const at::Tensor& got,
                        const at::Tensor& expected, const at::Tensor& exact);

// Counts elements of `got` that are outside of the range between `expected` and `ties_flipped`,
// the same output with near ties on the other side. Such integers are made of quantized numbers:
// counts, packed bits, answers of several comparisons.
int64_t wrong_integers(const at::Tensor& got, const at::Tensor& expected,
                       const at::Tensor& ties_flipped);

}  // namespace kw::exec
