// Direct sums of convolutions: their schedules and kernels.
//
//   direct    Each result sums its window.
//   together  A program works on several results for each of its places. They read neighbouring
//             windows, and a position of the input is read once for all of them. They may follow
//             each other along a dimension (windows slide). They may be the remainder classes of a
//             transposed dimension with a stride: each reads other positions of the window, known
//             in advance. Or they are all output channels, if these are few.
#pragma once

#include <vector>

#include "teacher/family/convolution.h"

namespace kw::teacher {

struct StencilSchedule {
  int64_t rows = 1, cols = 1;  // of a tile
  int warps = 4;
  bool channels_inside = false;  // columns are channels, not positions
  bool together = false;
  int64_t slide = 1;  // together: results of a place along the sliding dimension
};

// The dimension that windows slide along: the outermost of several positions in which they overlap;
// -1: none. The innermost one is no good where columns are positions: neighbours would be apart.
int sliding_dim(const Convolution& conv, bool channels_inside);

// How the results of a place lie along a dimension, and what they read. Results g * results to
// g * results + results - 1 read positions g * step - before + j of the input, 0 <= j < reach.
//
// An example is a transposed dimension with stride 2, a window of 4 and padding 1. Result o reads
// position (o + 1 - k) / 2 with window position k if that is whole. So place g reads positions
// g - 1, g and g + 1 (results = 2, step = 1, before = 1, reach = 3). Its first result, 2 g, reads
// g - 1 with k = 3 and g with k = 1. Its second reads g with k = 2 and g + 1 with k = 0.
struct Slide {
  int64_t results = 1, step = 1, before = 0, reach = 1;
  // Returns the position of the window with which result r reads position j; -1: it does not.
  int64_t tap(const ConvDim& dim, int64_t r, int64_t j) const;
};
std::vector<Slide> slides_of(const Convolution& conv, const StencilSchedule& schedule);

// Returns how many output channels a place computes together: all of a group's, or one.
int64_t filters_together(const Convolution& conv, const StencilSchedule& schedule);

// What a place does for each input channel: reads, and multiplications.
struct PlaceWork {
  int64_t results = 1, loads = 1, terms = 1;
};
PlaceWork place_work(const Convolution& conv, const StencilSchedule& schedule);

Written write_stencil(const Subject& subject, const Convolution& conv,
                      const StencilSchedule& schedule);

}  // namespace kw::teacher
