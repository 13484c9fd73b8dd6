#include "teacher/family/stencil.h"

#include <algorithm>

namespace kw::teacher {

int sliding_dim(const Convolution& conv, bool channels_inside) {
  int out = -1, positions = 0;
  for (int d = conv.rank(); d-- > 0;) {
    const ConvDim& dim = conv.dims[d];
    if (dim.transposed) return -1;
    const bool overlaps = (dim.kernel_size - 1) * dim.dilation >= dim.stride;
    if (dim.out_size > 1 && overlaps && (channels_inside || positions > 0)) out = d;
    positions += dim.out_size > 1 ? 1 : 0;
  }
  return out;
}

namespace {

// Returns (r + padding - k * dilation) / stride if that is whole. In a transposed dimension this is
// the distance of window position k of result r from the place's, in steps of the input.
bool transposed_shift(const ConvDim& dim, int64_t r, int64_t k, int64_t* shift) {
  const int64_t from = r + dim.padding - k * dim.dilation;
  if (from % dim.stride != 0) return false;
  *shift = from / dim.stride;
  return true;
}

}  // namespace

std::vector<Slide> slides_of(const Convolution& conv, const StencilSchedule& schedule) {
  const int along = schedule.slide > 1 ? sliding_dim(conv, schedule.channels_inside) : -1;
  std::vector<Slide> out;
  for (int d = 0; d < conv.rank(); ++d) {
    const ConvDim& dim = conv.dims[d];
    Slide slide;
    slide.results = dim.out_size == 1 ? 1
                    : dim.transposed  ? dim.stride
                    : d == along      ? schedule.slide
                                      : 1;
    if (!dim.transposed) {
      slide.step = slide.results * dim.stride;
      slide.before = dim.padding;
      slide.reach = (slide.results - 1) * dim.stride + (dim.kernel_size - 1) * dim.dilation + 1;
    } else {
      bool any = false;
      int64_t least = 0, most = 0, shift = 0;
      for (int64_t r = 0; r < slide.results; ++r) {
        for (int64_t k = 0; k < dim.kernel_size; ++k) {
          if (!transposed_shift(dim, r, k, &shift)) continue;
          least = any ? std::min(least, shift) : shift, most = any ? std::max(most, shift) : shift;
          any = true;
        }
      }
      slide.before = -least;
      slide.reach = any ? most - least + 1 : 0;
    }
    out.push_back(slide);
  }
  return out;
}

int64_t Slide::tap(const ConvDim& dim, int64_t r, int64_t j) const {
  for (int64_t k = 0; k < dim.kernel_size; ++k) {
    int64_t shift = r * dim.stride + k * dim.dilation;
    if (dim.transposed) {
      if (!transposed_shift(dim, r, k, &shift)) continue;
      shift += before;
    }
    if (shift == j) return k;
  }
  return -1;
}

int64_t filters_together(const Convolution& conv, const StencilSchedule& schedule) {
  constexpr int64_t kFew = 4;
  const int64_t filters = total_size(conv.filter);
  return schedule.together && !schedule.channels_inside && filters <= kFew ? filters : 1;
}

PlaceWork place_work(const Convolution& conv, const StencilSchedule& schedule) {
  PlaceWork out;
  const std::vector<Slide> slides = slides_of(conv, schedule);
  for (int d = 0; d < conv.rank(); ++d) {
    int64_t loads = 0, terms = 0;
    for (int64_t j = 0; j < slides[d].reach; ++j) {
      int64_t readers = 0;
      for (int64_t r = 0; r < slides[d].results; ++r) {
        readers += slides[d].tap(conv.dims[d], r, j) >= 0 ? 1 : 0;
      }
      terms += readers;
      loads += readers > 0 ? 1 : 0;
    }
    out.results *= slides[d].results;
    out.loads *= loads;
    out.terms *= terms;
  }
  const int64_t filters = filters_together(conv, schedule);
  out.results *= filters;
  out.terms *= filters * static_cast<int64_t>(conv.products.size());
  return out;
}

}  // namespace kw::teacher
