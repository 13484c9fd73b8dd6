// Computes a norm with the mean that plain kernels find: "as kernels do" of docs/numerics.md.
#pragma once

#include <optional>
#include <span>

#include "executor/aten/operators.h"
#include "program/program.h"

namespace kw::exec {

class NormArithmetic {
 public:
  // Returns the arithmetic of layer, group, instance and batch norms that find the mean of a
  // float32 input themselves. Returns nothing for other steps, or if arguments do not fit together,
  // which the operator itself reports.
  static std::optional<NormArithmetic> of(const Program& program, const AtenCall& step);

  // Returns the results of `call`, which was made from the same step, with another first result.
  // There each mean is off by kMeanError of itself. If the numbers are equal, it is also off by
  // accumulator_error(). The variance is the one about that mean. Means are off to one side, and to
  // the other side for an odd `dither`. `slots` are tensors by value number.
  std::vector<at::Tensor> run(const OperatorCall& call, std::span<const at::Tensor> slots,
                              int32_t dither) const;

 private:
  NormArithmetic() = default;
  at::Tensor normed(std::span<const at::Tensor> slots, int32_t dither) const;

  ValueId input_ = -1, weight_ = -1, bias_ = -1;  // -1: none
  double eps_ = 0;
  std::vector<int64_t> rows_;       // the input's shape when statistics are taken
  std::vector<int64_t> reduced_;    // the dimensions of `rows_` that each statistic covers
  std::vector<int64_t> elements_;   // the input's shape when parameters are applied
  std::vector<int64_t> parameter_;  // the parameters' shape then
};

}  // namespace kw::exec
