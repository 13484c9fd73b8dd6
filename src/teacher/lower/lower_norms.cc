// Normalisations are statistics over some dimensions, then one affine expression.
#include <numeric>

#include "teacher/lower/rules.h"

namespace kw::teacher {
namespace {

Tensor normalized(Builder& b, const Tensor& x, const Tensor& mean, const Tensor& rstd) {
  const DType type = register_type(x.dtype);
  const Tensor centered = b.pointwise("centered", "{0} - {1}", {x, mean}, type);
  return b.pointwise("normalized", "{0} * {1}", {centered, rstd}, type);
}

// Returns y * weight + bias. Both are vectors along `dim`; with dim -1 they have the trailing
// dimensions of y.
Tensor affine(Builder& b, Call& call, Tensor y, const std::string& weight, const std::string& bias,
              int dim) {
  auto parameter = [&](const std::string& name) {
    Tensor p = call.operand(name);
    return dim < 0 ? p : aligned(std::move(p), y.rank(), dim);
  };
  const DType type = register_type(y.dtype);
  if (call.present(weight)) y = b.pointwise("scaled", "{0} * {1}", {y, parameter(weight)}, type);
  if (call.present(bias)) y = b.pointwise("biased", "{0} + {1}", {y, parameter(bias)}, type);
  return y;
}

void lower_layer_norm(Builder& b, Call& call) {
  const Tensor x = b.use(call.operand("input"));
  const int normalized_rank = static_cast<int>(call.integers("normalized_shape").size());
  if (normalized_rank > x.rank()) throw Refusal{"layer_norm over more dimensions than there are"};
  std::vector<int> dims(normalized_rank);
  std::iota(dims.begin(), dims.end(), x.rank() - normalized_rank);
  const DType type = register_type(x.dtype);
  Tensor wide = x;
  wide.dtype = type;
  const Tensor mean = mean_of(b, wide, dims, true);
  const Tensor square_sum = centered_square_sum(b, wide, dims);
  const Tensor rstd =
      b.pointwise("rstd", "tl.rsqrt({0} / {1} + " + literal(call.number("eps", 1e-5), type) + ")",
                  {square_sum, b.count(x, dims)}, {type, DType::kInt32}, type);
  call.set_result(0, affine(b, call, normalized(b, wide, mean, rstd), "weight", "bias", -1));
  call.set_result(1, mean);
  call.set_result(2, rstd);
}

void give_rms_norm(Builder& b, Call& call, bool with_statistics) {
  const Tensor x = b.use(call.operand("input"));
  const int normalized_rank = static_cast<int>(call.integers("normalized_shape").size());
  if (normalized_rank > x.rank()) throw Refusal{"rms_norm over more dimensions than there are"};
  std::vector<int> dims(normalized_rank);
  std::iota(dims.begin(), dims.end(), x.rank() - normalized_rank);
  const DType type = register_type(x.dtype);
  const double eps = call.number("eps", dtype_eps(type));
  Tensor wide = x;
  wide.dtype = type;
  const Tensor square = b.pointwise("square", "{0} * {0}", {wide}, type);
  const Tensor mean = mean_of(b, square, dims, true);
  const Tensor rstd =
      b.pointwise("rstd", "tl.rsqrt({0} + " + literal(eps, type) + ")", {mean}, type);
  Tensor y = b.pointwise("normalized", "{0} * {1}", {wide, rstd}, type);
  if (call.present("weight"))
    y = b.pointwise("scaled", "{0} * {1}", {y, call.operand("weight")}, type);
  call.set_result(0, y);
  if (with_statistics) call.set_result(1, rstd);
}

void give_group_norm(Builder& b, Call& call, int64_t groups) {
  const Tensor x = b.use(call.operand("input"));
  if (x.rank() < 2 || groups < 1 || b.extent(x, 1) % groups != 0)
    throw Refusal{"group_norm's groups"};
  std::vector<int64_t> shape, grouped = {b.extent(x, 0), groups, b.extent(x, 1) / groups};
  for (int d = 0; d < x.rank(); ++d) shape.push_back(b.extent(x, d));
  grouped.insert(grouped.end(), shape.begin() + 2, shape.end());
  Tensor view = reshaped(b, x, grouped);
  const DType type = register_type(x.dtype);
  view.dtype = type;
  std::vector<int> dims(view.rank() - 2);
  std::iota(dims.begin(), dims.end(), 2);
  const Tensor mean = mean_of(b, view, dims, true);
  const Tensor square_sum = centered_square_sum(b, view, dims);
  const Tensor rstd =
      b.pointwise("rstd", "tl.rsqrt({0} / {1} + " + literal(call.number("eps", 1e-5), type) + ")",
                  {square_sum, b.count(view, dims)}, {type, DType::kInt32}, type);
  Tensor y = reshaped(b, normalized(b, view, mean, rstd), shape);
  call.set_result(0, affine(b, call, std::move(y), "weight", "bias", 1));
  if (call.results() > 1) {
    const std::vector<int64_t> statistics = {grouped[0], grouped[1]};
    call.set_result(1, reshaped(b, mean, statistics));
    call.set_result(2, reshaped(b, rstd, statistics));
  }
}

// The mean, the sum of squared distances from it and the number of elements, over some dimensions.
struct Statistics {
  Tensor mean, square_sum, count;
  DType type;
};

Statistics statistics(Builder& b, const Tensor& x, const std::vector<int>& reduced) {
  Tensor wide = x;
  wide.dtype = register_type(x.dtype);
  return {mean_of(b, wide, reduced, true), centered_square_sum(b, wide, reduced),
          b.count(x, reduced), wide.dtype};
}

// Returns whether the call overwrites running statistics.
bool updates_running(const Call& call) {
  if (!call.present("running_mean") && !call.present("running_var")) return false;
  if (!call.overwrites()) throw Refusal{call.op() + " does not say what it overwrites"};
  return true;
}

// Overwrites running statistics: running = (1 - momentum) * running + momentum * statistic.
void update_running(Builder& b, Call& call, const std::string& name, const Tensor& statistic) {
  const Tensor running = call.operand(name);
  if (register_type(running.dtype) != register_type(statistic.dtype)) {
    throw Refusal{call.op() + ": running statistics of another type"};
  }
  const DType type = register_type(running.dtype);
  const double momentum = call.number("momentum", 0.1);
  Tensor next = b.pointwise(
      name, "{0} * " + literal(1 - momentum, type) + " + {1} * " + literal(momentum, type),
      {running, reshaped(b, statistic, {b.numel(statistic)})}, type);
  next.dtype = running.dtype;
  call.overwrite_argument(name, std::move(next));
}

void channel_norm(Builder& b, Call& call, const Tensor& x, const Tensor& mean, const Tensor& rstd) {
  Tensor wide = x;
  wide.dtype = register_type(x.dtype);
  call.set_result(0, affine(b, call, normalized(b, wide, mean, rstd), "weight", "bias", 1));
}

std::string rstd_of(const std::string& variance, const std::string& eps) {
  return "tl.rsqrt(" + variance + " + " + eps + ")";
}

// The variance of one element is 0 / 0, as in PyTorch.
const char* const kUnbiased = "{0} / ({1} - 1)";

void lower_batch_norm(Builder& b, Call& call) {
  const Tensor x = b.use(call.operand("input"));
  if (x.rank() < 2) throw Refusal{"a normalisation of a vector"};
  const DType type = register_type(x.dtype);
  const std::string eps = literal(call.number("eps", 1e-5), type);
  const bool training = call.flag("training", false);
  if (!training && call.present("running_mean")) {
    const Tensor mean = aligned(call.operand("running_mean"), x.rank(), 1);
    const Tensor var = aligned(call.operand("running_var"), x.rank(), 1);
    return channel_norm(b, call, x, mean, b.pointwise("rstd", rstd_of("{0}", eps), {var}, type));
  }
  std::vector<int> reduced = {0};
  for (int d = 2; d < x.rank(); ++d) reduced.push_back(d);
  const Statistics found = statistics(b, x, reduced);
  channel_norm(b, call, x, found.mean,
               b.pointwise("rstd", rstd_of("{0} / {1}", eps), {found.square_sum, found.count},
                           {type, DType::kInt32}, type));
  if (!training || !updates_running(call)) return;
  if (call.present("running_mean")) update_running(b, call, "running_mean", found.mean);
  if (call.present("running_var")) {
    update_running(b, call, "running_var",
                   b.pointwise("var", kUnbiased, {found.square_sum, found.count},
                               {type, DType::kInt32}, type));
  }
}

// Each instance is normalised by its statistics. The running ones take their means over the batch.
// These are reductions over another dimension, so the statistics go through memory.
void lower_instance_norm(Builder& b, Call& call) {
  const Tensor x = b.use(call.operand("input"));
  if (x.rank() < 3) throw Refusal{"an instance_norm without spatial dimensions"};
  const DType type = register_type(x.dtype);
  const std::string eps = literal(call.number("eps", 1e-5), type);
  if (!call.flag("use_input_stats", true)) {
    const Tensor mean = aligned(call.operand("running_mean"), x.rank(), 1);
    const Tensor var = aligned(call.operand("running_var"), x.rank(), 1);
    return channel_norm(b, call, x, mean, b.pointwise("rstd", rstd_of("{0}", eps), {var}, type));
  }
  std::vector<int> spatial(x.rank() - 2);
  std::iota(spatial.begin(), spatial.end(), 2);
  const Statistics found = statistics(b, x, spatial);
  channel_norm(b, call, x, found.mean,
               b.pointwise("rstd", rstd_of("{0} / {1}", eps), {found.square_sum, found.count},
                           {type, DType::kInt32}, type));
  if (!updates_running(call)) return;
  const std::vector<int64_t> instances = {b.extent(x, 0), b.extent(x, 1)};
  auto over_batch = [&](const Tensor& statistic) {
    return mean_of(b, b.materialized(reshaped(b, statistic, instances)), {0}, true);
  };
  if (call.present("running_mean")) update_running(b, call, "running_mean", over_batch(found.mean));
  if (call.present("running_var")) {
    update_running(b, call, "running_var",
                   over_batch(b.pointwise("var", kUnbiased, {found.square_sum, found.count},
                                          {type, DType::kInt32}, type)));
  }
}

void lower_rms_norm(Builder& b, Call& call) { give_rms_norm(b, call, false); }
void lower_fused_rms_norm(Builder& b, Call& call) { give_rms_norm(b, call, true); }

void lower_group_norm(Builder& b, Call& call) {
  give_group_norm(b, call, call.integer("num_groups", 1));
}

void lower_native_group_norm(Builder& b, Call& call) {
  give_group_norm(b, call, call.integer("group", 1));
}

constexpr LoweringRule kNormRules[] = {
    {"aten._fused_rms_norm", lower_fused_rms_norm},
    {"aten._native_batch_norm_legit_no_training", lower_batch_norm},
    {"aten.batch_norm", lower_batch_norm},
    {"aten.group_norm", lower_group_norm},
    {"aten.instance_norm", lower_instance_norm},
    {"aten.layer_norm", lower_layer_norm},
    {"aten.native_batch_norm", lower_batch_norm},
    {"aten.native_group_norm", lower_native_group_norm},
    {"aten.native_layer_norm", lower_layer_norm},
    {"aten.rms_norm", lower_rms_norm},
};

}  // namespace

std::span<const LoweringRule> norm_rules() { return kNormRules; }

}  // namespace kw::teacher
