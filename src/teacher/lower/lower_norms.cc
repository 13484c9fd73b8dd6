// Normalisations: statistics over some dimensions, then one affine expression.
#include <numeric>

#include "teacher/lower/lowering.h"

namespace kw::teacher {

bool Lowering::norm(const std::string& base) {
  if (base == "aten.layer_norm" || base == "aten.native_layer_norm") {
    layer_norm();
  } else if (base == "aten.rms_norm") {
    rms_norm(false);
  } else if (base == "aten._fused_rms_norm") {
    rms_norm(true);
  } else if (base == "aten.group_norm") {
    group_norm(integer("num_groups", 1));
  } else if (base == "aten.native_group_norm") {
    group_norm(integer("group", 1));
  } else if (base == "aten.instance_norm") {
    instance_norm();
  } else if (base == "aten.batch_norm" || base == "aten.native_batch_norm" ||
             base == "aten._native_batch_norm_legit_no_training") {
    batch_norm();
  } else {
    return false;
  }
  return true;
}

Tensor Lowering::normalized(const Tensor& x, const Tensor& mean, const Tensor& rstd) {
  const DType type = register_type(x.dtype);
  const Tensor centered = pointwise("centered", "{0} - {1}", {x, mean}, type);
  return pointwise("normalized", "{0} * {1}", {centered, rstd}, type);
}

// y * weight + bias, each a vector along `dim` (or, with dim -1, of the trailing dimensions).
Tensor Lowering::affine(Tensor y, const std::string& weight, const std::string& bias, int dim) {
  auto parameter = [&](const std::string& name) {
    Tensor p = operand(name);
    return dim < 0 ? p : aligned(std::move(p), y.rank(), dim);
  };
  const DType type = register_type(y.dtype);
  if (present(weight)) y = pointwise("scaled", "{0} * {1}", {y, parameter(weight)}, type);
  if (present(bias)) y = pointwise("biased", "{0} + {1}", {y, parameter(bias)}, type);
  return y;
}

void Lowering::layer_norm() {
  const Tensor x = use(operand("input"));
  const int normalized_rank = static_cast<int>(integers("normalized_shape").size());
  if (normalized_rank > x.rank()) throw Refusal{"layer_norm over more dimensions than there are"};
  std::vector<int> dims(normalized_rank);
  std::iota(dims.begin(), dims.end(), x.rank() - normalized_rank);
  const DType type = register_type(x.dtype);
  Tensor wide = x;
  wide.dtype = type;
  const Tensor mean = mean_of(wide, dims, true);
  const Tensor square_sum = centered_square_sum(wide, dims);
  const Tensor rstd =
      pointwise("rstd", "tl.rsqrt({0} / {1} + " + literal(number("eps", 1e-5), type) + ")",
                {square_sum, count(x, dims)}, {type, DType::kInt32}, type);
  set_result(0, affine(normalized(wide, mean, rstd), "weight", "bias", -1));
  set_result(1, mean);
  set_result(2, rstd);
}

void Lowering::rms_norm(bool with_statistics) {
  const Tensor x = use(operand("input"));
  const int normalized_rank = static_cast<int>(integers("normalized_shape").size());
  if (normalized_rank > x.rank()) throw Refusal{"rms_norm over more dimensions than there are"};
  std::vector<int> dims(normalized_rank);
  std::iota(dims.begin(), dims.end(), x.rank() - normalized_rank);
  const DType type = register_type(x.dtype);
  const double eps = number("eps", dtype_eps(type));
  Tensor wide = x;
  wide.dtype = type;
  const Tensor square = pointwise("square", "{0} * {0}", {wide}, type);
  const Tensor mean = mean_of(square, dims, true);
  const Tensor rstd = pointwise("rstd", "tl.rsqrt({0} + " + literal(eps, type) + ")", {mean}, type);
  Tensor y = pointwise("normalized", "{0} * {1}", {wide, rstd}, type);
  if (present("weight")) y = pointwise("scaled", "{0} * {1}", {y, operand("weight")}, type);
  set_result(0, y);
  if (with_statistics) set_result(1, rstd);
}

void Lowering::group_norm(int64_t groups) {
  const Tensor x = use(operand("input"));
  if (x.rank() < 2 || groups < 1 || extent(x, 1) % groups != 0)
    throw Refusal{"group_norm's groups"};
  std::vector<int64_t> shape, grouped = {extent(x, 0), groups, extent(x, 1) / groups};
  for (int d = 0; d < x.rank(); ++d) shape.push_back(extent(x, d));
  grouped.insert(grouped.end(), shape.begin() + 2, shape.end());
  Tensor view = reshaped(x, grouped);
  const DType type = register_type(x.dtype);
  view.dtype = type;
  std::vector<int> dims(view.rank() - 2);
  std::iota(dims.begin(), dims.end(), 2);
  const Tensor mean = mean_of(view, dims, true);
  const Tensor square_sum = centered_square_sum(view, dims);
  const Tensor rstd =
      pointwise("rstd", "tl.rsqrt({0} / {1} + " + literal(number("eps", 1e-5), type) + ")",
                {square_sum, count(view, dims)}, {type, DType::kInt32}, type);
  Tensor y = reshaped(normalized(view, mean, rstd), shape);
  set_result(0, affine(std::move(y), "weight", "bias", 1));
  if (call_->results.size() > 1) {
    const std::vector<int64_t> statistics = {grouped[0], grouped[1]};
    set_result(1, reshaped(mean, statistics));
    set_result(2, reshaped(rstd, statistics));
  }
}

// Mean, sum of squared distances from it and number of elements, over some dimensions of an input.
struct Lowering::Statistics {
  Tensor mean, square_sum, count;
  DType type;
};

Lowering::Statistics Lowering::statistics(const Tensor& x, const std::vector<int>& reduced) {
  Tensor wide = x;
  wide.dtype = register_type(x.dtype);
  return {mean_of(wide, reduced, true), centered_square_sum(wide, reduced), count(x, reduced),
          wide.dtype};
}

// Whether the call overwrites running statistics.
bool Lowering::updates_running() const {
  if (!present("running_mean") && !present("running_var")) return false;
  if (call_->mutated.empty()) throw Refusal{call_->op + " does not say what it overwrites"};
  return true;
}

// running = (1 - momentum) * running + momentum * statistic, in place.
void Lowering::update_running(const std::string& name, const Tensor& statistic) {
  const Tensor running = operand(name);
  if (register_type(running.dtype) != register_type(statistic.dtype)) {
    throw Refusal{call_->op + ": running statistics of another type"};
  }
  const DType type = register_type(running.dtype);
  const double momentum = number("momentum", 0.1);
  Tensor next = pointwise(
      name, "{0} * " + literal(1 - momentum, type) + " + {1} * " + literal(momentum, type),
      {running, reshaped(statistic, {numel(statistic)})}, type);
  next.dtype = running.dtype;
  const ValueId id = arg(name)->value();
  update(id, next);
  stale_.erase(id);
  values_[id] = std::move(next);
}

void Lowering::channel_norm(const Tensor& x, const Tensor& mean, const Tensor& rstd) {
  Tensor wide = x;
  wide.dtype = register_type(x.dtype);
  set_result(0, affine(normalized(wide, mean, rstd), "weight", "bias", 1));
}

namespace {

std::string rstd_of(const std::string& variance, const std::string& eps) {
  return "tl.rsqrt(" + variance + " + " + eps + ")";
}

// One element has no variance: 0 / 0, as PyTorch has it.
const char* const kUnbiased = "{0} / ({1} - 1)";

}  // namespace

void Lowering::batch_norm() {
  const Tensor x = use(operand("input"));
  if (x.rank() < 2) throw Refusal{"a normalisation of a vector"};
  const DType type = register_type(x.dtype);
  const std::string eps = literal(number("eps", 1e-5), type);
  const bool training = flag("training", false);
  if (!training && present("running_mean")) {
    const Tensor mean = aligned(operand("running_mean"), x.rank(), 1);
    const Tensor var = aligned(operand("running_var"), x.rank(), 1);
    return channel_norm(x, mean, pointwise("rstd", rstd_of("{0}", eps), {var}, type));
  }
  std::vector<int> reduced = {0};
  for (int d = 2; d < x.rank(); ++d) reduced.push_back(d);
  const Statistics found = statistics(x, reduced);
  channel_norm(x, found.mean,
               pointwise("rstd", rstd_of("{0} / {1}", eps), {found.square_sum, found.count},
                         {type, DType::kInt32}, type));
  if (!training || !updates_running()) return;
  if (present("running_mean")) update_running("running_mean", found.mean);
  if (present("running_var")) {
    update_running("running_var", pointwise("var", kUnbiased, {found.square_sum, found.count},
                                            {type, DType::kInt32}, type));
  }
}

// Each instance by its own statistics. The running ones take their means over the batch, which are
// reductions over another dimension: the statistics go through memory.
void Lowering::instance_norm() {
  const Tensor x = use(operand("input"));
  if (x.rank() < 3) throw Refusal{"an instance_norm without spatial dimensions"};
  const DType type = register_type(x.dtype);
  const std::string eps = literal(number("eps", 1e-5), type);
  if (!flag("use_input_stats", true)) {
    const Tensor mean = aligned(operand("running_mean"), x.rank(), 1);
    const Tensor var = aligned(operand("running_var"), x.rank(), 1);
    return channel_norm(x, mean, pointwise("rstd", rstd_of("{0}", eps), {var}, type));
  }
  std::vector<int> spatial(x.rank() - 2);
  std::iota(spatial.begin(), spatial.end(), 2);
  const Statistics found = statistics(x, spatial);
  channel_norm(x, found.mean,
               pointwise("rstd", rstd_of("{0} / {1}", eps), {found.square_sum, found.count},
                         {type, DType::kInt32}, type));
  if (!updates_running()) return;
  const std::vector<int64_t> instances = {extent(x, 0), extent(x, 1)};
  auto over_batch = [&](const Tensor& statistic) {
    return mean_of(materialized(reshaped(statistic, instances)), {0}, true);
  };
  if (present("running_mean")) update_running("running_mean", over_batch(found.mean));
  if (present("running_var")) {
    update_running("running_var",
                   over_batch(pointwise("var", kUnbiased, {found.square_sum, found.count},
                                        {type, DType::kInt32}, type)));
  }
}

}  // namespace kw::teacher
