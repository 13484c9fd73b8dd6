// What a step gives when plain kernels compute it: "as kernels do" of docs/numerics.md. PyTorch may
// be better there than anybody has to be.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "executor/arithmetic/convolution_arithmetic.h"
#include "executor/arithmetic/norm_arithmetic.h"
#include "executor/aten/operators.h"
#include "executor/discrete/discontinuities.h"
#include "program/program.h"

namespace kw {

// Whether a step's float32 results are rounded: not where it moves numbers, or chooses among them,
// or writes them in place.
bool rounds_results(const AtenCall& step);
// A float32 result as an implementation that is right to a unit in the last place may have it: each
// element off by about a unit, in either direction; whole numbers as they are, and other dtypes.
// Which direction hangs on `seed`, the number of elements and the kind of device.
at::Tensor right_to_a_unit(const at::Tensor& result, uint64_t seed);

class KernelArithmetic {
 public:
  // Nothing of a step that kernels compute as PyTorch does.
  static std::optional<KernelArithmetic> of(const Program& program, const AtenCall& step);

  // The results of `call`, made of the same step; `slots` by value number. `dither`: other errors
  // for each, of operands in TF32 (rounded_to_tf32()), of numbers near one, of means.
  std::vector<at::Tensor> run(const OperatorCall& call, std::span<const at::Tensor> slots,
                              int32_t dither) const;
  // Of a convolution alone, with operands in TF32 and nothing else.
  std::vector<at::Tensor> run_in_tf32(const OperatorCall& call,
                                      std::span<const at::Tensor> slots) const;
  bool is_convolution() const { return kind_ == Kind::kConvolution; }
  bool is_rounding() const { return kind_ == Kind::kRounding; }

 private:
  enum class Kind {
    kConvolution,  // float32 operands in TF32, and what is cut off of the sums
    kExponential,  // an argument off by a unit in its last place
    kNearOne,      // so, and float32 results that come out of numbers near one
    kRounding,     // to integers, and comparisons, of numbers computed in float32 or float64: near
                // ties fall the other way. In half types the reference itself lets enough of them
                // fall.
    kLongSum,  // sums of float32 err as one accumulator does
    kNorm      // so does the mean of a norm
  };
  KernelArithmetic() = default;
  at::Tensor changed(const at::Tensor& operand, std::span<const at::Tensor> slots) const;

  at::Tensor beyond_near(const at::Tensor& operand, std::span<const at::Tensor> slots) const;

  Kind kind_ = Kind::kConvolution;
  std::vector<ValueId> operands_;
  Jump jump_ = Jump::kMiddle;           // of kRounding
  double units_ = 0;                    // of kRounding: how near a tie is (beyond_near_jumps())
  std::optional<Arg> other_;            // of kRounding: what is compared with
  bool is_softmax_ = false;             // of kNearOne
  double terms_ = 0;                    // of kLongSum: for each element
  std::optional<NormArithmetic> norm_;  // of kNorm
  std::optional<ConvolutionArithmetic> convolution_;  // of kConvolution
};

}  // namespace kw
