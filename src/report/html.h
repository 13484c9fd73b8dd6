// report.html: one self-contained page on an optimisation, readable offline.
#pragma once

#include <string>

#include "formats/output.h"
#include "search/optimize.h"

namespace kw {

// Every page, of optimize, eval and synth, has such a title.
inline constexpr FileKind kPageFile = {"page of Kernelwright", "Kernelwright</title>"};

// Graph of the program with what was fused, kernel sources beside what they replace, times with
// intervals (measured or labelled a model), numerics, what was rejected and why. All text from
// users and workers is escaped.
std::string report_html(const OptimizeResult& result);

}  // namespace kw
