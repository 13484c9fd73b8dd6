#include "executor/arithmetic/norm_arithmetic.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>

#include "executor/arithmetic/arguments.h"
#include "executor/compare/accumulator.h"

namespace kw::exec {
namespace {

// Numbers are equal, apart from roundings, if they deviate by less than this share of their mean.
constexpr double kEqual = 0x1p-20;

bool flag(const AtenCall& step, std::string_view name) {
  const Arg* arg = step.find(name);
  const bool* value = arg ? std::get_if<bool>(&arg->v) : nullptr;
  return value && *value;
}

// Returns 0 if there is no such integer.
int64_t integer(const AtenCall& step, std::string_view name) {
  const Arg* arg = step.find(name);
  const int64_t* value = arg ? std::get_if<int64_t>(&arg->v) : nullptr;
  return value ? *value : 0;
}

std::optional<double> epsilon(const AtenCall& step) {
  const Arg* arg = step.find("eps");
  if (!arg) return 1e-5;
  if (const auto* value = std::get_if<double>(&arg->v)) return *value;
  if (const auto* value = std::get_if<int64_t>(&arg->v)) return static_cast<double>(*value);
  return std::nullopt;
}

int64_t product(std::span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

// Returns how many of the last dimensions a layer norm covers; 0 if they are not its input's.
size_t normalized_rank(const AtenCall& step, const std::vector<int64_t>& shape) {
  const Arg* arg = step.find("normalized_shape");
  const auto* sizes = arg ? std::get_if<ArgList>(&arg->v) : nullptr;
  if (!sizes || sizes->size() > shape.size()) return 0;
  const bool fit =
      std::equal(sizes->begin(), sizes->end(), shape.end() - static_cast<long>(sizes->size()),
                 [](const Arg& size, int64_t extent) {
                   const auto* value = std::get_if<int64_t>(&size.v);
                   return value && *value == extent;
                 });
  return fit ? sizes->size() : 0;
}

}  // namespace

std::optional<NormArithmetic> NormArithmetic::of(const Program& program, const AtenCall& step) {
  const std::string_view name = step.op;
  const bool layer = name == "aten.layer_norm.default" || name == "aten.native_layer_norm.default";
  const bool native_group = name == "aten.native_group_norm.default";
  const bool group = native_group || name == "aten.group_norm.default";
  const bool instance = name == "aten.instance_norm.default" && flag(step, "use_input_stats");
  const bool batch =
      (name == "aten.batch_norm.default" || name == "aten.native_batch_norm.default") &&
      flag(step, "training");
  if (!layer && !group && !instance && !batch) return std::nullopt;

  NormArithmetic out;
  out.input_ = value_argument(step, "input");
  if (out.input_ < 0 || step.results.empty() || step.results[0] < 0) return std::nullopt;
  const Value& input = program.values[out.input_];
  const Value& result = program.values[step.results[0]];
  const std::vector<int64_t>& shape = input.shape;
  if (input.dtype != DType::kFloat32 || result.dtype != DType::kFloat32) return std::nullopt;
  const std::optional<double> eps = epsilon(step);
  if (input.numel() == 0 || !eps) return std::nullopt;
  out.eps_ = *eps;
  out.weight_ = value_argument(step, "weight");
  out.bias_ = value_argument(step, "bias");

  if (layer) {
    const size_t rank = normalized_rank(step, shape);
    if (rank == 0) return std::nullopt;
    const int64_t terms = product(std::span(shape).last(rank));
    out.rows_ = out.elements_ = {input.numel() / terms, terms};
    out.reduced_ = {1};
    out.parameter_ = {1, terms};
    return out;
  }
  if (shape.size() < 2) return std::nullopt;
  // The native form has its layout as arguments, and its input may have any shape.
  const int64_t samples = native_group ? integer(step, "N") : shape[0];
  const int64_t channels = native_group ? integer(step, "C") : shape[1];
  if (samples < 1 || channels < 1 || input.numel() % (samples * channels) != 0) return std::nullopt;
  const int64_t length = input.numel() / (samples * channels);
  if (native_group && length != integer(step, "HxW")) return std::nullopt;
  out.elements_ = {samples, channels, length};
  out.parameter_ = {1, channels, 1};
  if (group) {
    const int64_t groups = integer(step, native_group ? "group" : "num_groups");
    if (groups < 1 || channels % groups != 0) return std::nullopt;
    out.rows_ = {samples, groups, channels / groups * length};
    out.reduced_ = {2};
  } else {
    out.rows_ = out.elements_;
    out.reduced_ = instance ? std::vector<int64_t>{2} : std::vector<int64_t>{0, 2};
  }
  return out;
}

std::vector<at::Tensor> NormArithmetic::run(const OperatorCall& call,
                                            std::span<const at::Tensor> slots,
                                            int32_t dither) const {
  std::vector<at::Tensor> results = call.run(slots);
  results[0].copy_(normed(slots, dither));
  return results;
}

at::Tensor NormArithmetic::normed(std::span<const at::Tensor> slots, int32_t dither) const {
  const at::Tensor x = slots[input_].reshape(rows_);
  const auto [variance, mean] = at::var_mean(x, reduced_, /*correction=*/0, /*keepdim=*/true);
  const double terms = static_cast<double>(x.numel()) / static_cast<double>(mean.numel());
  const at::Tensor equal = variance.le((mean * kEqual).square());
  const int direction = dither % 2 == 0 ? 1 : -1;
  const at::Tensor off = mean * (equal * accumulator_error(terms) + kMeanError) * direction;
  const at::Tensor scale = (variance + off.square()).add_(eps_).rsqrt_();
  at::Tensor y = (x - (mean + off)).mul_(scale).view(elements_);
  if (weight_ >= 0) y.mul_(slots[weight_].reshape(parameter_));
  if (bias_ >= 0) y.add_(slots[bias_].reshape(parameter_));
  return y.view(slots[input_].sizes());
}

}  // namespace kw::exec
