#include "runtime/executor/norm_arithmetic.h"

#include <functional>
#include <numeric>
#include <set>
#include <string_view>

#include "runtime/executor/accumulator.h"
#include "runtime/executor/operators.h"

namespace kw {
namespace {

ValueId tensor(const AtenCall& step, std::string_view name) {
  const Arg* arg = step.find(name);
  return arg && arg->is_value() ? arg->value() : -1;
}

bool flag(const AtenCall& step, std::string_view name) {
  const Arg* arg = step.find(name);
  return arg && to_scalar(*arg).toBool();
}

int64_t integer(const AtenCall& step, std::string_view name) {
  const Arg* arg = step.find(name);
  return arg ? to_scalar(*arg).toLong() : 0;
}

int64_t product(std::span<const int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

std::optional<NormArithmetic> NormArithmetic::of(const Program& program, const AtenCall& step) {
  NormArithmetic out;
  out.input_ = tensor(step, "input");
  if (out.input_ < 0 || step.results.empty() || step.results[0] < 0) return std::nullopt;
  const Value& input = program.values[out.input_];
  const Value& result = program.values[step.results[0]];
  const std::vector<int64_t>& shape = input.shape;
  if (input.dtype != DType::kFloat32 || result.dtype != DType::kFloat32) return std::nullopt;
  if (input.numel() == 0) return std::nullopt;
  out.weight_ = tensor(step, "weight");
  out.bias_ = tensor(step, "bias");
  const Arg* eps = step.find("eps");
  out.eps_ = eps ? to_scalar(*eps).toDouble() : 1e-5;

  const std::string_view name = step.op;
  if (name == "aten.layer_norm.default" || name == "aten.native_layer_norm.default") {
    const auto& normalized = std::get<ArgList>(step.find("normalized_shape")->v);
    const size_t outer = shape.size() - normalized.size();
    const int64_t terms = product(std::span(shape).subspan(outer));
    out.rows_ = out.elements_ = {input.numel() / terms, terms};
    out.reduced_ = {1};
    out.parameter_ = {1, terms};
    return out;
  }
  if (shape.size() < 2) return std::nullopt;
  const int64_t batch = shape[0], channels = shape[1];
  const int64_t length = input.numel() / (batch * channels);
  out.elements_ = {batch, channels, length};
  out.parameter_ = {1, channels, 1};
  if (name == "aten.group_norm.default" || name == "aten.native_group_norm.default") {
    const int64_t groups = integer(step, step.find("group") ? "group" : "num_groups");
    out.rows_ = {batch, groups, channels / groups * length};
    out.reduced_ = {2};
  } else if (name == "aten.instance_norm.default" && flag(step, "use_input_stats")) {
    out.rows_ = out.elements_;
    out.reduced_ = {2};
  } else if ((name == "aten.batch_norm.default" || name == "aten.native_batch_norm.default") &&
             flag(step, "training")) {
    out.rows_ = out.elements_;
    out.reduced_ = {0, 2};
  } else {
    return std::nullopt;
  }
  return out;
}

at::Tensor NormArithmetic::run(std::span<const at::Tensor> slots) const {
  const at::Tensor x = slots[input_].reshape(rows_);
  const auto [variance, mean] = at::var_mean(x, reduced_, /*correction=*/0, /*keepdim=*/true);
  const double terms = static_cast<double>(x.numel()) / static_cast<double>(mean.numel());
  const at::Tensor off = mean * mean_error(terms);
  const at::Tensor scale = (variance + off.square()).add_(eps_).rsqrt_();
  at::Tensor y = (x - (mean + off)).mul_(scale).view(elements_);
  if (weight_ >= 0) y.mul_(slots[weight_].reshape(parameter_));
  if (bias_ >= 0) y.add_(slots[bias_].reshape(parameter_));
  return y.view(slots[input_].sizes());
}

}  // namespace kw
