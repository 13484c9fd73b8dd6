// Outputs whose elements are of scales far apart, without a dimension that parts them: scores among
// which the masked ones are -1e9. The error of the whole is ruled by the large ones, and everything
// else could be left out. So the small ones are measured by themselves.
#pragma once

#include "executor/aten/aten.h"
#include "executor/compare/cross_sections.h"

namespace kw {

// The number that parts the small elements of `oracle` (float64) from the large ones, where nothing
// is near it: no magnitude for as many binades as `dtype` has bits, ten at least, and a
// 1024th of the elements (of half types a 64th), and 16, on either side. 0 where there is no such
// gap. Elements that are zero or not finite are on neither side. The widest gap counts.
double scale_gap(const at::Tensor& oracle, at::ScalarType dtype);

// The error of the elements of magnitude below `gap`, allowed as in a cross-section.
SectionError error_below(double gap, const at::Tensor& candidate, const at::Tensor& reference,
                         const at::Tensor& oracle);

}  // namespace kw
