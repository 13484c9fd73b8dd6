// The shape rules: what a skeleton asks of its tensors' sizes, and what it costs in terms of them.
#pragma once

#include <vector>

#include "synth/sizes.h"
#include "synth/skeleton.h"

namespace kw {

using Shape = std::vector<SizeId>;

// What a new tensor holds, and what it is to the program.
enum class Role {
  kInput,
  kWeight,  // of a product or convolution that reads it: a parameter
  kScale,   // of a norm
  kBias,
  kRunningMean,  // buffers
  kRunningVar,   // positive
};

struct NewTensor {
  Role role = Role::kInput;
  int step = -1;  // whose operand it is
};

// coefficient times the larger number of elements of `a` and `b`, floating-point operations.
struct FlopsTerm {
  double coefficient = 0;
  Shape a, b;
};

struct ShapedStep {
  std::vector<int> operands;  // tensors: of SynthStep::operands, then the step's own
  int result = -1;
};

struct ShapedSkeleton {
  Sizes sizes;
  std::vector<Shape> tensors;    // of the program, new ones and results
  std::vector<NewTensor> fresh;  // those that are new
  std::vector<int> fresh_of;     // by tensor: index into `fresh`, or -1
  std::vector<ShapedStep> steps;
  std::vector<FlopsTerm> flops;
};

// Whether no step computes or moves anything: results are views of what is read.
bool only_views(const Skeleton& skeleton);

// Every rule applied. The skeleton has no sizes where `sizes` ended in a contradiction.
ShapedSkeleton shape(const Skeleton& skeleton);

}  // namespace kw
