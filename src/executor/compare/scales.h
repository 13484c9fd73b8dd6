// Outputs whose elements have two scales far apart that no dimension separates, such as scores of
// which masked ones are -1e9. The large elements dominate the error of the whole, and everything
// else could be left out. So the small ones are measured alone.
#pragma once

#include "executor/aten/aten.h"
#include "executor/compare/cross_sections.h"

namespace kw::exec {

// Returns a number in the widest gap between small and large magnitudes of `oracle` (float64), or 0
// if there is no gap. A gap is at least as many binades without any magnitude as `dtype` has bits,
// and at least ten. On either side there must be a 1024th of the elements (a 64th for half types),
// and at least 16. Elements that are zero or not finite are on neither side.
double scale_gap(const at::Tensor& oracle, at::ScalarType dtype);

// Returns the error of the elements of magnitude below `gap`, with what a cross-section may err.
SectionError error_below(double gap, const at::Tensor& candidate, const at::Tensor& reference,
                         const at::Tensor& oracle);

}  // namespace kw::exec
