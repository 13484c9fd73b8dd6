// What a text says of a part before its code: which values it computes, along which axes, and how.
#pragma once

#include <string>

#include "teacher/decomposition.h"

namespace kw::teacher {

// Returns "-> t31, t33": every value that some part stores. Models that learn to write such kernels
// read from it where parts end.
std::string stored_text(const Decomposition& way);

// Returns one line. `kernels` is how many `choice` writes. `with_axes` is for models that learn to
// write such kernels. The line then also says what is stored, of which shape and along which axes,
// what is computed for it, and what is read. Otherwise a model would have to work this out while it
// writes names and sizes.
std::string plan_text(const Part& part, const Choice& choice, size_t kernels, bool with_axes);

struct AxesText {
  // "[5, 26, 3, 2], [64]": sizes of the axes, kept and folded ones, outermost first, or, for
  // products and convolutions, in the order of the result's dimensions. Dimensions of size 1, small
  // windows, which are loops of constants, and the positions that a convolution reads have no axis.
  // "flat": one loop over what lies densely in all tensors.
  std::string sizes;
  // "; a0: [_, 1, 2, _], [3]; out0: [0, 2, 1, 3]; loops: [5, 26 * 3, 2], [64]". For each tensor
  // that is read, this is the dimension that moves with each axis; "~1" moves by an index that the
  // kernel works out, such as a window's. Results that are not simply dense have the same. If some
  // of these axes are walked as one loop, "loops" says which, except for convolutions. If axes are
  // flat, this is "; a0: flat".
  std::string tensors;
};
AxesText axes_text(const Subject& subject, const std::string& family);

}  // namespace kw::teacher
