// Errors of cross-sections: all elements of an output that share one index of one dimension; of a
// vector, neighbours.
//
// The RMS of a whole tensor is ruled by its large values. Where scales differ along a dimension
// (a column a million times smaller than the next), a candidate could leave the small ones out and
// still be near in RMS; its error in that cross-section is then near 1.
#pragma once

#include <vector>

#include "executor/aten/aten.h"

namespace kw {

// The cross-section that is furthest beyond what it may err. `excess` is the candidate's relative
// RMS error divided by what is allowed: kSectionFactor times the reference's own in the same
// cross-section, and at least the square root of the dtype's epsilon, which is far from both
// rounding and from a result that was left out. Cross-sections of fewer than 16 finite elements
// are taken together with those that follow, the last with those before, and say nothing where all
// are so few; one of four elements or more may not be off by a quarter by itself. Values below the
// dtype's normal range say nothing. `index` is that of the first.
struct SectionError {
  double excess = 0;
  int64_t dim = -1, index = -1;
  double candidate = 0, allowed = 0;  // relative RMS errors there
};
constexpr double kSectionFactor = 64;

// Of Comparison::sections (compare.h), of a `candidate`.
SectionError worst_section(const std::vector<at::Tensor>& sums, const at::Tensor& candidate);

// Whether each cross-section of `got`, made of `before` in place, changed as that of `expected`
// did: RMS(got - expected) is at most a tenth of RMS(expected - before), and the rounding of what
// changed. A whole tensor's change is ruled by its large rows. Shapes agree; all are floats.
bool sections_updated_alike(const at::Tensor& got, const at::Tensor& expected,
                            const at::Tensor& before);

}  // namespace kw
