#include "executor/arithmetic/convolution_arithmetic.h"

#include <algorithm>
#include <string_view>

#include "executor/arithmetic/arguments.h"
#include "executor/arithmetic/tf32.h"

namespace kw::exec {
namespace {

// What is cut off of so few terms is less than any output may be off by.
constexpr int64_t kFewTerms = 128;

}  // namespace

std::optional<ConvolutionArithmetic> ConvolutionArithmetic::of(const AtenCall& step) {
  ConvolutionArithmetic out;
  out.input_ = value_argument(step, "input");
  out.weight_ = value_argument(step, "weight");
  out.bias_ = value_argument(step, "bias");
  if (out.input_ < 0 || out.weight_ < 0) return std::nullopt;
  const Arg* groups = step.find("groups");
  if (const auto* count = groups ? std::get_if<int64_t>(&groups->v) : nullptr) out.groups_ = *count;
  return out;
}

at::Tensor ConvolutionArithmetic::in_tf32(const OperatorCall& call,
                                          std::span<const at::Tensor> slots, int32_t dither) const {
  std::vector<at::Tensor> rounded(slots.begin(), slots.end());
  rounded[input_] = rounded_to_tf32(slots[input_], dither);
  rounded[weight_] = rounded_to_tf32(slots[weight_], -dither);
  return call.run(rounded)[0];
}

at::Tensor ConvolutionArithmetic::terms(const OperatorCall& call,
                                        std::span<const at::Tensor> slots) const {
  // A convolution of ones counts them, with the same window and one channel a group.
  const at::Tensor &input = slots[input_], &weight = slots[weight_];
  const int64_t spatial = weight.dim() - 2, channel = input.dim() - spatial - 1;
  std::vector<int64_t> sizes = input.sizes().vec(), window = weight.sizes().vec();
  const int64_t channels = sizes[channel] / groups_;
  if (channel > 0) sizes[0] = 1;
  sizes[channel] = groups_;
  window[0] = groups_;
  window[1] = 1;
  std::vector<at::Tensor> ones(slots.begin(), slots.end());
  ones[input_] = at::ones(sizes, input.options());
  ones[weight_] = at::ones(window, weight.options());
  if (bias_ >= 0) ones[bias_] = at::zeros({groups_}, input.options());
  at::Tensor counted = call.run(ones)[0];
  if (channel > 0) counted = counted.select(0, 0);
  return counted.select(0, 0) * channels;
}

at::Tensor ConvolutionArithmetic::on_tensor_cores(const OperatorCall& call,
                                                  std::span<const at::Tensor> slots,
                                                  int32_t dither) const {
  // The most terms of an element. One of the first two dimensions is not summed over; the direction
  // of the convolution decides which.
  const at::Tensor& weight = slots[weight_];
  const int64_t most =
      weight.numel() / std::max<int64_t>(std::min(weight.size(0), weight.size(1)), 1);
  // The terms cannot be counted if one tensor is both input and weight.
  if (slots[input_].scalar_type() != at::kFloat || input_ == weight_ || most <= kFewTerms)
    return in_tf32(call, slots, dither);
  std::vector<at::Tensor> without_bias(slots.begin(), slots.end());
  if (bias_ >= 0) without_bias[bias_] = at::zeros_like(slots[bias_]);
  at::Tensor result = in_tf32(call, without_bias, dither);
  result.mul_(terms(call, slots).mul_(-kCutOff).add_(1));
  if (bias_ >= 0) {
    std::vector<int64_t> shape(slots[weight_].dim() - 1, 1);
    shape[0] = -1;
    result.add_(slots[bias_].view(shape));
  }
  return result;
}

}  // namespace kw::exec
