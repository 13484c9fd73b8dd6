// Errors of cross-sections. A cross-section is all elements of an output that share one index of
// one dimension; in a vector it is a stretch of adjacent elements.
//
// Large values dominate the RMS of a whole tensor. If scales differ along a dimension, as with a
// column a million times smaller than the next, a candidate could leave the small ones out and
// still be near in RMS. Its error in that cross-section is then near 1.
#pragma once

#include <vector>

#include "executor/aten/aten.h"

namespace kw::exec {

// The cross-section whose error is furthest beyond what is allowed. `excess` is the candidate's
// relative RMS error divided by what is allowed. Allowed is kSectionFactor times the reference's
// error in the same cross-section, or the square root of the dtype's epsilon if that is more. That
// root is far from rounding and far from a result that was left out.
//
// Cross-sections of fewer than 16 finite elements are measured together with those that follow, and
// the last ones with those before. If all together are fewer, they say nothing. A cross-section of
// four elements or more may also not be off by a quarter alone. Values below the dtype's normal
// range say nothing. `index` is that of the first cross-section of a group.
struct SectionError {
  double excess = 0;
  int64_t dim = -1, index = -1;
  double candidate = 0, allowed = 0;  // relative RMS errors there
};
constexpr double kSectionFactor = 64;

// Returns the worst cross-section in `sums`, which is Comparison::sections of a `candidate`.
SectionError worst_section(const std::vector<at::Tensor>& sums, const at::Tensor& candidate);

// Returns whether each cross-section of `got` changed as that of `expected` did; both were made
// from `before` in place. RMS(got - expected) may be a tenth of RMS(expected - before), plus the
// rounding of what changed. Large rows dominate the change of a whole tensor, so each is looked at.
// Shapes must agree, and all tensors are floats.
bool sections_updated_alike(const at::Tensor& got, const at::Tensor& expected,
                            const at::Tensor& before);

}  // namespace kw::exec
