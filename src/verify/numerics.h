// When is an output right? Errors are measured against an fp64 run of the reference and compared
// with the reference's own error in its own precision (DESIGN section 3.5, docs/numerics.md).
#pragma once

#include <string>

#include "runtime/protocol.h"

namespace kw {

enum class Tolerance {
  kCalibrated,   // relative RMS within 4x, worst error within 8x of the reference's own
  kKernelBench,  // |c - r| <= 1e-2 + 1e-2 |r|, for comparison with published numbers
};

// Empty when the output passes, else the reason in one line.
std::string output_fault(const OutputErrors& errors, Tolerance tolerance);

// The largest relative RMS and worst error that pass; what reports show beside what was measured.
struct ErrorBounds {
  double rms = 0, worst = 0;
};
ErrorBounds error_bounds(const OutputErrors& errors);

}  // namespace kw
