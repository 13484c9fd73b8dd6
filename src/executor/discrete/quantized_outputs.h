// Codes: integers that stand for numbers, as quantisation makes them, and answers of comparisons.
// What is rounded to an integer may be nearer to the place where rounding jumps than its own error,
// and then the integers on both sides are right.
#pragma once

#include "executor/discrete/index_outputs.h"

namespace kw {

// Output `output` of a program as the code of what was rounded, when it is one: made from floating
// numbers by rounding, cutting or conversion, or of computed ones by comparison, and from there on
// by operators that give integers from integers, element by element.
std::optional<Choice> find_code(const Program& program, size_t output);

// How far from a jump a candidate's element may fall on its other side: eight times the reference's
// worst error, which is `reference` less `oracle`, both what was rounded. Shape of `oracle`. Zero
// where nothing was rounded before.
at::Tensor code_slack(Jump jump, const at::Tensor& reference, const at::Tensor& oracle);

// Elements of `got` that are neither `expected` nor `exact`, the codes of `rounded` in float64,
// nor, where that is within `slack` of a jump, the code on its other side. All that differ from
// `expected`, where `got` is off from `exact` in many more elements than `expected` is.
int64_t wrong_codes(Jump jump, const at::Tensor& rounded, const at::Tensor& slack,
                    const at::Tensor& got, const at::Tensor& expected, const at::Tensor& exact);

// Elements of `got`, integers that are made of numbers that jumped, that are neither `expected` nor
// what stands between that and `fallen`, the same where near ties fall the other way: counts, bits
// that are packed, answers of several comparisons.
int64_t wrong_integers(const at::Tensor& got, const at::Tensor& expected, const at::Tensor& fallen);

}  // namespace kw
