// A norm whose mean is as plain kernels find it: "as kernels do" of docs/numerics.md.
#pragma once

#include <optional>
#include <span>

#include "executor/aten/aten.h"
#include "program/program.h"

namespace kw {

class NormArithmetic {
 public:
  // Of layer, group, instance and batch norms that find the mean of a float32 input themselves;
  // nothing where arguments do not fit together, which is the operator's to say.
  static std::optional<NormArithmetic> of(const Program& program, const AtenCall& step);

  // The first result of the step, float32, with each mean off by kMeanError of it, where numbers
  // are equal by accumulator_error() too, and the variance about that mean; `slots` by value
  // number. Means are off to one side, of an odd `dither` to the other.
  at::Tensor run(std::span<const at::Tensor> slots, int32_t dither = 0) const;

 private:
  NormArithmetic() = default;

  ValueId input_ = -1, weight_ = -1, bias_ = -1;  // -1: none
  double eps_ = 0;
  // The input as it is when statistics are taken, each over `reduced_`, and as it is when the
  // parameters come, themselves as `parameter_`.
  std::vector<int64_t> rows_, reduced_, elements_, parameter_;
};

}  // namespace kw
