// Discrete outputs: integer outputs that a rounding may change. They are indices of largest
// elements, orders of sorts, and quantized outputs (quantized_outputs.h).
//
// Two elements may be nearer to each other than their own rounding error. Then the index of either
// is right. So an index is right in two cases: it is the reference's, or float64 puts its element
// within the reference's own error of the element that the reference picked. Among elements that
// are equal in float64, PyTorch's choice counts, unless PyTorch promises none or has itself rounded
// them apart.
#pragma once

#include <optional>
#include <vector>

#include "executor/aten/aten.h"
#include "executor/discrete/discontinuities.h"
#include "program/program.h"

namespace kw::exec {

struct DiscreteOutput {
  size_t position = 0;         // among the program's outputs
  ValueId source = -1;         // what is chosen among, or rounded to integers
  std::optional<int64_t> dim;  // the dimension of the choice; none: all elements
  // Set for quantized outputs: where their rounding is discontinuous.
  std::optional<Discontinuity> discontinuity;
  // A number or a value that `source` is compared with. The difference of the two is then rounded.
  std::optional<Arg> other;
  bool any_of_equal = false;  // any of several equal elements is right
};

// Returns the outputs that operators of class Numerics::kChoice or kAnyChoice made, seen through
// views that keep the order of elements, and the quantized outputs. Leaves out outputs whose source
// is overwritten.
std::vector<DiscreteOutput> find_discrete_outputs(const Program& program);

// Returns the program with the source of each of `discrete_outputs` as one further output.
Program with_sources(Program program, const std::vector<DiscreteOutput>& discrete_outputs);

// What the elements of a discrete output are held to. Tensors are flat or have the program's shape.
struct DiscreteRule {
  at::Tensor source;  // as the oracle has it
  // For quantized outputs quantized_tolerance(). For index outputs four numbers a row, of which
  // allowed() in index_outputs.cc makes how far off an element may be.
  at::Tensor tolerance;
  // The source as the reference has it, if that may tell equal elements apart.
  at::Tensor reference_source = {};
};
// Returns the rule that `reference` and `oracle`, both runs' values of the source, set.
DiscreteRule discrete_rule(const DiscreteOutput& output, const at::Tensor& reference,
                           const at::Tensor& oracle);
// Raises the tolerance of an index output to what the errors of `run` allow, another run's value of
// the source.
void allow_errors_of(const DiscreteOutput& output, const at::Tensor& run, DiscreteRule& rule);

// Counts the elements of `got` that are neither `expected` nor a near tie with it. `exact` is the
// oracle's answer.
int64_t wrong_elements(const DiscreteOutput& output, const DiscreteRule& rule,
                       const at::Tensor& got, const at::Tensor& expected, const at::Tensor& exact);

}  // namespace kw::exec
