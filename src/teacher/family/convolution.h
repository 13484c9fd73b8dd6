// Convolutions of a graph as the families see them, and their kernels: a direct sum or an implicit
// matrix product. There M is batch and positions of the result, N the output channels of a group,
// K window and input channels. The choices that share a Convolution own it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "teacher/family/family.h"
#include "teacher/family/gemm.h"

namespace kw::teacher {

// All convolutions of a graph: same window, same loops.
struct Convolution {
  std::vector<int> products;     // nodes
  std::vector<int> left, right;  // distinct inputs, distinct weights
  std::vector<ConvDim> dims;
  std::vector<Loop> batch, group, channel, filter;  // filter: output channels of a group
  DType operand = DType::kFloat32;
  bool phased = false;  // transposed with a stride: positions split by their remainder

  int rank() const { return static_cast<int>(dims.size()); }
  int64_t taps() const;       // of the window
  int64_t positions() const;  // of the result
};

// Returns nothing if the graph is no (single) convolution with pointwise operators around it.
std::optional<Convolution> find_convolution(const Subject& subject);

// Returns the shape class of its schedules (schedule.h).
std::string convolution_class(const Subject& subject, const Convolution& conv);

// Returns each leaf as a loop, in the order given and without merging.
std::vector<Loop> leaf_loops(const Graph& graph, const Axes& leaves);
// Returns whether these nodes are all loads that walk the leaves, outermost first, as one loop.
bool walk_as_one(const Subject& subject, const std::vector<int>& nodes, const Axes& leaves);
std::string kernel_size_text(const Graph& graph, const ConvDim& dim);
// Returns what a kernel calls an index along spatial dimension `d`: "o0".
std::string index_name(const char* base, int d);
// Returns the input position, "o0 * 2 - 1 + k0 * 3"; `o` and `k` are "" or "0" if there is one
// only. A sum that starts with 0 keeps it, as in all texts so far.
std::string window_position(const ConvDim& dim, const std::string& o, const std::string& k);

// How a remainder class of a transposed dimension walks the kernel: positions k0, k0 + step, ...,
// each moving the input position back by `back`.
struct Phase {
  int64_t count = 1;    // remainder classes
  int64_t common = 1;   // gcd(stride, dilation): classes that it does not divide read nothing
  int64_t step = 1;     // stride / common
  int64_t back = 1;     // dilation / common
  int64_t inverse = 0;  // of `back` modulo `step`
};
Phase phase_of(const ConvDim& dim);

enum class Walk {
  kTaps,  // K: one position of the window after the other, a block of channels at a time
  kFlat,  // K: all of it in one row, for few channels
};

struct ConvSchedule {
  GemmTile tile;
  Walk walk = Walk::kTaps;
  bool turned_input = false;   // copied first to scratch with channels innermost, prologue done
  bool turned_weight = false;  // copied first to scratch [window, group, filter, channel]
  bool kernel_first = false;   // kFlat: window outside of channels
  bool flipped = false;        // tiles are filters by positions: for results contiguous along these
  std::string precision;       // of the dot: "tf32", "tf32x3", "ieee"; empty for half types
  int splits = 1;
};

Written write_convolution(const Subject& subject, const Convolution& conv,
                          const ConvSchedule& schedule);
// `text`, a value, as the dot is given it: where that is in TF32, rounded to the nearest as cuDNN's
// are, the largest of all to infinity. The tensor cores leave off the last 13 bits, which errs
// twice as much, and to one side.
std::string operand_text(KernelText& kernel, const std::string& text, const ConvSchedule& schedule);
// The copying kernels of a schedule; `index` numbers the operand. Copies are rounded already.
KernelText turned_input_kernel(const Subject& subject, const Convolution& conv,
                               const ConvSchedule& schedule, int index);
KernelText turned_weight_kernel(const Subject& subject, const Convolution& conv,
                                const ConvSchedule& schedule, int index);
Scratch turned_input_scratch(const Subject& subject, const Convolution& conv, int index);
Scratch turned_weight_scratch(const Subject& subject, const Convolution& conv, int index);

}  // namespace kw::teacher
