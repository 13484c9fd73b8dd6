// What a text says of a part before its code: which values it computes, along which axes, and how.
#pragma once

#include <string>

#include "policy/teacher/decomposition.h"

namespace kw::teacher {

// One line. `kernels`: how many `choice` writes. `with_axes`: also the axes, for models that learn
// to write such kernels: what would else have to be worked out while names and sizes are written.
std::string plan_text(const Part& part, const Choice& choice, size_t kernels, bool with_axes);

// "axes: [5, 26, 3, 2], [64]; a0: [_, 1, 2, _], [3]; out0: [0, 2, 1, 3]; loops: [5, 26 * 3, 2],
// [64]": sizes of the axes, kept and folded ones, outermost first, or, for products and
// convolutions, in the order of the result's dimensions; for each tensor that is read the
// dimension that moves with each ("~1": by an index that the kernel works out, as a window's), and
// for results that are not simply dense likewise; and, where some of these axes are walked as one
// loop, which, but for convolutions. Dimensions of size 1, small windows, which are loops of
// constants, and the positions that a convolution reads have no axis. "axes: flat": one loop over
// what lies densely in all tensors.
std::string axes_text(const Subject& subject, const std::string& family);

}  // namespace kw::teacher
