// A float32 convolution as tensor cores compute it: "as kernels do" of docs/numerics.md.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "executor/aten/operators.h"
#include "program/program.h"

namespace kw {

class ConvolutionArithmetic {
 public:
  // Nothing where an operand is missing, which is the operator's to say.
  static std::optional<ConvolutionArithmetic> of(const AtenCall& step);

  // The result of `call`, made of the same step, with float32 operands in TF32; products are exact,
  // sums and the bias float32. `slots` by value number; `dither` as for rounded_to_tf32().
  at::Tensor in_tf32(const OperatorCall& call, std::span<const at::Tensor> slots,
                     int32_t dither = 0) const;
  // So, and less by what is cut off of its sums: kCutOff times the number of its terms.
  at::Tensor on_tensor_cores(const OperatorCall& call, std::span<const at::Tensor> slots,
                             int32_t dither = 0) const;
  // How many terms each element sums, those in padding left out: [spatial...].
  at::Tensor terms(const OperatorCall& call, std::span<const at::Tensor> slots) const;

 private:
  ValueId input_ = -1, weight_ = -1, bias_ = -1;  // bias -1: none
  int64_t groups_ = 1;
};

// Tensor cores cut sums off, toward zero, where they do not fit the accumulator (Fasi, Higham,
// Mikaitis, Pranesh 2021, "Numerical behavior of NVIDIA tensor cores", section 4): with 24 bits
// half a unit each time, at most 2^-24 of a sum that is half of its last value in the mean, for
// eight terms in TF32. Of terms of one sign this adds up.
constexpr double kCutOff = 0x1p-25 / 8;

}  // namespace kw
