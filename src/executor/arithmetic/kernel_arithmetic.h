// The results of a step as plain kernels compute them: "as kernels do" of docs/numerics.md.
// PyTorch may be better there than any kernel must be.
#pragma once

#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "executor/arithmetic/convolution_arithmetic.h"
#include "executor/arithmetic/norm_arithmetic.h"
#include "executor/aten/operators.h"
#include "executor/discrete/discontinuities.h"
#include "program/program.h"

namespace kw::exec {

// Returns whether a step's float32 results are rounded. They are not if it moves numbers, chooses
// among them, or writes them in place.
bool rounds_results(const AtenCall& step);
// Returns a float32 result as an implementation that is right to a unit in the last place may have
// it. Each element is off by about a unit, in either direction. Whole numbers and other dtypes stay
// as they are. The direction depends on `seed`, the number of elements and the kind of device.
at::Tensor right_to_a_unit(const at::Tensor& result, uint64_t seed);

// In each of the following, run() returns the results of `call`, which was made from the same step.
// `slots` are tensors by value number. Each `dither` other than 0 gives other errors.

// An exponential of an argument that is off by a unit in its last place.
struct ExponentialArithmetic {
  std::vector<ValueId> operands;
  std::vector<at::Tensor> run(const OperatorCall& call, std::span<const at::Tensor> slots,
                              int32_t dither) const;
};

// A function whose argument is off by a unit, and whose float32 results come from numbers near one.
struct NearOneArithmetic {
  ExponentialArithmetic function;
  bool is_softmax = false;
  std::vector<at::Tensor> run(const OperatorCall& call, std::span<const at::Tensor> slots,
                              int32_t dither) const;
};

// A rounding to integers, or a comparison, of numbers computed in float32 or float64, with near
// ties flipped. In fp16 and bf16 no such run is needed: the reference's own rounding already flips
// enough ties.
struct RoundingArithmetic {
  std::vector<ValueId> operands;
  Discontinuity discontinuity;
  double units;              // how near a tie is: across_near_discontinuities()
  std::optional<Arg> other;  // what a comparison compares with
  std::vector<at::Tensor> run(const OperatorCall& call, std::span<const at::Tensor> slots,
                              int32_t dither) const;

 private:
  at::Tensor flipped(const at::Tensor& operand, std::span<const at::Tensor> slots) const;
};

// A long sum of float32, with the errors of one accumulator.
struct LongSumArithmetic {
  std::vector<ValueId> operands;
  double terms;  // of each element
  std::vector<at::Tensor> run(const OperatorCall& call, std::span<const at::Tensor> slots,
                              int32_t dither) const;
};

// A long sum, mean, prefix sum or norm of float32, with the errors of one accumulator, in runs with
// a dither. Usual kernels add in lanes, and err no more than PyTorch does. One that adds one by one
// is in doubt. Results that are added to others, or subtracted, keep PyTorch's error: a difference
// would make the allowance large.
struct ReductionArithmetic {
  enum class Kind { kSum, kMean, kPrefixes, kOfOneSign };
  // Returns nothing for steps that reduce otherwise, or less.
  static std::optional<ReductionArithmetic> of(const Program& program, const AtenCall& step);
  std::vector<at::Tensor> run(const OperatorCall& call, std::span<const at::Tensor> slots,
                              int32_t dither) const;

  ValueId operand;
  double terms;  // of each element; of prefixes, the last one's
  Kind kind;
  int64_t dim = -1;  // of prefixes
};

// Attention in a half type whose query is rounded once more. Usual kernels multiply it by the scale
// and by log2(e) before the first product, and keep the rest in float32.
struct AttentionArithmetic {
  ValueId query;
  std::vector<ValueId> others;  // key, value, and a mask
  std::vector<at::Tensor> run(const OperatorCall& call, std::span<const at::Tensor> slots,
                              int32_t dither) const;
};

class KernelArithmetic {
 public:
  // Returns nothing for a step that kernels compute as PyTorch does.
  static std::optional<KernelArithmetic> of(const Program& program, const AtenCall& step);

  std::vector<at::Tensor> run(const OperatorCall& call, std::span<const at::Tensor> slots,
                              int32_t dither) const;
  // Runs a convolution with operands in TF32 and no other change.
  std::vector<at::Tensor> run_in_tf32(const OperatorCall& call,
                                      std::span<const at::Tensor> slots) const;
  bool is_convolution() const { return std::holds_alternative<ConvolutionArithmetic>(kind_); }
  bool is_rounding() const { return std::holds_alternative<RoundingArithmetic>(kind_); }
  // Returns whether only a dither makes a difference.
  bool is_for_doubt() const { return std::holds_alternative<ReductionArithmetic>(kind_); }

 private:
  using Kind = std::variant<ConvolutionArithmetic, ExponentialArithmetic, NearOneArithmetic,
                            RoundingArithmetic, LongSumArithmetic, ReductionArithmetic,
                            NormArithmetic, AttentionArithmetic>;
  explicit KernelArithmetic(Kind kind) : kind_(std::move(kind)) {}

  Kind kind_;
};

}  // namespace kw::exec
