// Computes a float32 convolution as tensor cores do: "as kernels do" of docs/numerics.md.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "executor/aten/operators.h"
#include "program/program.h"

namespace kw::exec {

class ConvolutionArithmetic {
 public:
  // Returns nothing if an operand is missing; the operator itself reports that.
  static std::optional<ConvolutionArithmetic> of(const AtenCall& step);

  // Returns the result of `call`, which was made from the same step, with float32 operands in TF32.
  // Products are exact; sums and the bias are float32. `slots` are tensors by value number.
  // `dither` is that of rounded_to_tf32().
  at::Tensor in_tf32(const OperatorCall& call, std::span<const at::Tensor> slots,
                     int32_t dither = 0) const;
  // Returns the same, reduced by what tensor cores cut off of its sums: kCutOff times the number of
  // terms.
  at::Tensor on_tensor_cores(const OperatorCall& call, std::span<const at::Tensor> slots,
                             int32_t dither = 0) const;
  // Returns {on_tensor_cores()}, the results of the step.
  std::vector<at::Tensor> run(const OperatorCall& call, std::span<const at::Tensor> slots,
                              int32_t dither) const {
    return {on_tensor_cores(call, slots, dither)};
  }
  // Returns how many terms each element sums, without those in padding: [spatial...].
  at::Tensor terms(const OperatorCall& call, std::span<const at::Tensor> slots) const;

 private:
  ValueId input_ = -1, weight_ = -1, bias_ = -1;  // bias -1: none
  int64_t groups_ = 1;
};

// Tensor cores cut sums off toward zero if they do not fit the accumulator (Fasi, Higham, Mikaitis,
// Pranesh 2021, "Numerical behavior of NVIDIA tensor cores", section 4). With 24 bits they lose
// half a unit for every eight terms in TF32. That is at most 2^-24 of the sum so far, whose mean is
// half of its last value. If all terms have one sign, the losses add up.
constexpr double kCutOff = 0x1p-25 / 8;

}  // namespace kw::exec
