// What the results of a place read, against the definition of convolutions.
#include "teacher/family/stencil.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "policy/test_fragment.h"
#include "teacher/teacher.h"

namespace kw::teacher {
namespace {

// Position of the window -> position of the input, for one result; outside of the input too.
std::map<int64_t, int64_t> by_definition(const ConvDim& dim, int64_t result) {
  std::map<int64_t, int64_t> out;
  for (int64_t k = 0; k < dim.kernel_size; ++k) {
    if (!dim.transposed) {
      out[k] = result * dim.stride - dim.padding + k * dim.dilation;
      continue;
    }
    const int64_t from = result + dim.padding - k * dim.dilation;
    if (from % dim.stride == 0) out[k] = from / dim.stride;
  }
  return out;
}

TEST(Slides, ReadWhatTheDefinitionSays) {
  std::mt19937 random(1);
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int round = 0; round < 2000; ++round) {
    Convolution conv;
    for (int64_t d = draw(1, 3); d > 0; --d) {
      ConvDim dim;
      dim.transposed = round % 2 == 0;
      dim.out_size = draw(0, 3) == 0 ? 1 : draw(2, 40);
      dim.kernel_size = draw(1, 5), dim.stride = draw(1, 4), dim.dilation = draw(1, 3);
      dim.padding = draw(0, 6);
      conv.dims.push_back(dim);
    }
    StencilSchedule schedule{1, 1, 4, draw(0, 1) == 1, true, int64_t{1} << draw(0, 3)};
    const std::vector<Slide> slides = slides_of(conv, schedule);
    for (int d = 0; d < conv.rank(); ++d) {
      const ConvDim& dim = conv.dims[d];
      const Slide& slide = slides[d];
      for (int64_t o = 0; o < dim.out_size; ++o) {
        const int64_t place = o / slide.results, r = o % slide.results;
        std::map<int64_t, int64_t> read;
        for (int64_t j = 0; j < slide.reach; ++j) {
          if (const int64_t k = slide.tap(dim, r, j); k >= 0) {
            read[k] = place * slide.step - slide.before + j;
          }
        }
        ASSERT_EQ(read, by_definition(dim, o)) << "round " << round << " dimension " << d;
      }
    }
  }
}

// The best estimate for a direct sum of a transposed convolution to three channels whose input has
// these strides, behind so many activations.
double direct_seconds(const std::vector<int64_t>& strides, int activations) {
  FragmentBuilder b;
  const std::vector<int64_t> shape = {32, 32, 64, 64};
  ValueId x = b.input(shape, DType::kFloat32, strides);
  const ValueId weight = b.input({32, 3, 4, 4});
  for (int i = 0; i < activations; ++i) x = b.call("aten.tanh.default", {{"self", ref(x)}}, shape);
  const Task task = b.build(b.call("aten.convolution.default",
                                   {{"input", ref(x)},
                                    {"weight", ref(weight)},
                                    {"bias", Arg{}},
                                    {"stride", list({2, 2})},
                                    {"padding", list({1, 1})},
                                    {"dilation", list({1, 1})},
                                    {"transposed", Arg{true}},
                                    {"output_padding", list({0, 0})},
                                    {"groups", num(1)}},
                                   {32, 3, 128, 128}));
  double best = 0;
  for (const Proposal& p : make_teacher({})->propose(task, profile(), 1000, 0, kNoDeadline)) {
    if (p.family == "stencil" && (best == 0 || p.model_seconds < best)) best = p.model_seconds;
  }
  return best;
}

TEST(Estimates, OfDirectSumsKnowWhatAReadCosts) {
  const std::vector<int64_t> plain = {32 * 4096, 4096, 64, 1}, last = {32 * 4096, 1, 64 * 32, 32};
  const double seconds = direct_seconds(plain, 0);
  ASSERT_GT(seconds, 0);
  // A warp's threads read a sector each where channels lie between neighbouring positions.
  EXPECT_GT(direct_seconds(last, 0), 3 * seconds);
  // What comes before the convolution is computed at every position of the window.
  EXPECT_GT(direct_seconds(plain, 20), 1.5 * seconds);
}

}  // namespace
}  // namespace kw::teacher
