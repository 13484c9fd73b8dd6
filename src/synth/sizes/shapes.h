// The shape rules: what a skeleton asks of its tensors' sizes, and what it costs in terms of them.
#pragma once

#include <array>
#include <span>
#include <vector>

#include "synth/sizes/sizes.h"
#include "synth/skeleton/few.h"
#include "synth/skeleton/skeleton.h"

namespace kw {

// Of a tensor, or sizes that are multiplied: those of two at most.
using Shape = Few<SizeId, 2 * kRanks>;

// What a new tensor holds, and what it is to the program.
enum class Role {
  kInput,
  kWeight,  // of a product or convolution that reads it: a parameter
  kScale,   // of a norm
  kBias,
  kRunningMean,  // buffers
  kRunningVar,   // positive
  kIndex,        // an input: integers
};

struct NewTensor {
  Role role = Role::kInput;
  int step = -1;     // whose operand it is
  int indexed = -1;  // kIndex: the dim of the step's first operand that it picks from
};

// coefficient times the larger number of elements of `a` and `b`, floating-point operations.
struct FlopsTerm {
  double coefficient = 0;
  Shape a, b;
};

struct ShapedStep {
  Few<int, 6> operands;  // tensors: of SynthStep::operands, then the step's own
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

// Applies the rules, step by step.
class Shaper {
 public:
  // Leaves the steps so far; the memory stays.
  void restart();
  // False where the steps so far have no sizes: `sizes` is a contradiction then.
  bool add(const SynthStep& step);
  // After the last step.
  ShapedSkeleton finish();

 private:
  Sizes& sizes() { return out_.sizes; }
  const Shape& tensor(int id) const { return out_.tensors[id]; }
  const Shape& result_of_step(int step) const { return tensor(out_.steps[step].result); }
  void add_new(Role role, const Shape& shape, int indexed = -1);
  void add_result(const Shape& shape);
  Shape free_shape(int rank);
  SizeId one() { return sizes().constant(1); }
  Shape take(const Operand& operand, Role role, const auto& make_shape);
  Shape take(const Operand& operand);
  void take_as(const Operand& operand, const Shape& wanted, Role role = Role::kInput);

  // A dim of the left operand and one of the right that have one size; from the end, -1 the last.
  struct SameDim {
    int left, right;
  };
  std::array<Shape, 2> take_two(std::span<const SameDim> same, Role right = Role::kInput);

  Shape broadcast();
  Shape product();
  Shape lookup();
  Shape rearrange();
  Shape resize();
  Shape reduce();
  Shape normalise();
  Shape window();
  Shape convolve();
  Shape join();
  Shape result();
  void add_flops(const SynthOperator& op, const ShapedStep& made);
  void add_affine(const Shape& shape, bool scale);

  const SynthStep* step_ = nullptr;              // that is being added
  std::vector<const SynthOperator*> operators_;  // of the steps so far
  ShapedSkeleton out_;
};

// Every rule applied. The skeleton has no sizes where `sizes` ended in a contradiction.
ShapedSkeleton shape(const Skeleton& skeleton);

}  // namespace kw
