// Losses: a pointwise formula of input and target, then nothing, a mean or a sum.
#include <numeric>

#include "teacher/lower/lowering.h"

namespace kw::teacher {

bool Lowering::loss(const std::string& base) {
  if (base == "aten.nll_loss_forward" || base == "aten.nll_loss2d_forward") {
    negative_likelihood();
    return true;
  }
  const bool cross = base == "aten.binary_cross_entropy";
  const bool logits = base == "aten.binary_cross_entropy_with_logits";
  if (base != "aten.mse_loss" && base != "aten.smooth_l1_loss" && base != "aten.huber_loss" &&
      base != "aten.soft_margin_loss" && !cross && !logits) {
    return false;
  }
  const DType dtype = result_value().dtype, type = register_type(dtype);
  if (!is_floating(dtype)) throw Refusal{"a loss of integers"};
  const Tensor x = use(cast("cast", operand("self"), dtype));
  const Tensor y = use(cast("cast", operand("target"), dtype));
  auto constant_of = [&](const char* name, double otherwise) {
    return literal(number(name, otherwise), type);
  };
  Tensor out;
  if (base == "aten.mse_loss") {
    const Tensor difference = pointwise("difference", "{0} - {1}", {x, y}, dtype);
    out = pointwise("square", "{0} * {0}", {difference}, dtype);
  } else if (base == "aten.smooth_l1_loss") {
    out = pointwise("distance", "tl.abs({0} - {1})", {x, y}, dtype);
    if (number("beta", 1) != 0) {
      const std::string beta = constant_of("beta", 1);
      out = pointwise(
          "smooth",
          "tl.where({0} < " + beta + ", 0.5 * {0} * {0} / " + beta + ", {0} - 0.5 * " + beta + ")",
          {out}, dtype);
    }
  } else if (base == "aten.huber_loss") {
    const std::string delta = constant_of("delta", 1);
    out = pointwise("distance", "tl.abs({0} - {1})", {x, y}, dtype);
    out = pointwise("huber",
                    "tl.where({0} <= " + delta + ", 0.5 * {0} * {0}, " + delta +
                        " * ({0} - 0.5 * " + delta + "))",
                    {out}, dtype);
  } else if (base == "aten.soft_margin_loss") {
    out = pointwise("margin", "libdevice.log1p(tl.exp(-{1} * {0}))", {x, y}, dtype);
  } else if (cross) {
    out = pointwise("cross_entropy",
                    "({1} - 1.0) * tl.maximum(libdevice.log1p(-{0}), -100.0) - {1} * "
                    "tl.maximum(tl.log({0}), -100.0)",
                    {x, y}, dtype);
  } else {
    out = pointwise("softplus", "libdevice.log1p(tl.exp(-tl.abs({0}))) + tl.maximum(-{0}, 0.0)",
                    {x}, dtype);
    if (present("pos_weight")) {
      const Tensor more = use(cast("cast", operand("pos_weight"), dtype));
      out = pointwise("scaled", "(1.0 + ({1} - 1.0) * {2}) * {0}", {out, more, y}, dtype);
    }
    out = pointwise("cross_entropy", "(1.0 - {1}) * {0} + {2}", {x, y, out}, dtype);
  }
  if ((cross || logits) && present("weight")) {
    const Tensor weight = use(cast("cast", operand("weight"), dtype));
    out = pointwise("weighted", "{0} * {1}", {out, weight}, dtype);
  }
  set_result(0, averaged(std::move(out)));
  return true;
}

// By the `reduction` argument: as it is, its mean or its sum.
Tensor Lowering::averaged(Tensor t) {
  const int64_t how = integer("reduction", 1);
  std::vector<int> dims(t.rank());
  std::iota(dims.begin(), dims.end(), 0);
  if (how == 0) return t;
  t = put_apart(std::move(t));
  return how == 1 ? mean_of(t, dims, false) : reduce("total", ReduceOp::kSum, t, dims, false);
}

// nll_loss: minus the target class's value, weighted by class; targets to be ignored count nothing.
void Lowering::negative_likelihood() {
  const Tensor t = use(operand("self"));
  const Tensor target = use(operand("target"));
  if (!is_integral(target.dtype)) throw Refusal{"classes that are not integers"};
  const DType type = register_type(t.dtype);
  const int classes = t.rank() == 1 ? 0 : 1;
  if (t.rank() < 1 || target.rank() != t.rank() - 1) throw Refusal{"classes of another rank"};
  const std::string ignored = literal(number("ignore_index", -100), DType::kInt64);
  const Tensor valid = pointwise("valid", "{0} != " + ignored, {target},
                                 {register_type(target.dtype)}, DType::kBool);
  Tensor label = target;  // uint8 and the like cannot be an offset
  label.node = integer_node("label", "{0}", {target.node});
  std::vector<std::vector<Piece>> dims(static_cast<size_t>(target.rank()));
  for (int d = 0; d < target.rank(); ++d) {
    dims[d] = joined({t, target}, {d < classes ? d : d + 1, d});
  }
  auto pick = [&](const Tensor& from, int dim) {
    Position position;
    position.node = label.node;
    position.guard = valid.node;
    Positions at;
    place(from, dim, position, at);
    return taken(from, at, dims);
  };
  Tensor loss = pointwise("likelihood", "-{0}", {pick(t, classes)}, t.dtype);
  Tensor weight = constant(literal(1.0, type), t.dtype);
  if (present("weight")) {
    weight = pick(use(operand("weight")), 0);
    loss = pointwise("weighted", "{0} * {1}", {loss, weight}, t.dtype);
  }
  const std::string zero = literal(0.0, type);
  const std::string counted = "tl.where({0}, {1}, " + zero + ")";
  const std::vector<DType> types = {DType::kBool, type};
  loss = pointwise("loss", counted, {valid, loss}, types, t.dtype);
  const int64_t how = integer("reduction", 1);
  if (how == 0) return set_result(0, loss);
  loss = put_apart(std::move(loss));
  std::vector<int> all(target.rank());
  std::iota(all.begin(), all.end(), 0);
  const Tensor sum = reduce("total", ReduceOp::kSum, loss, all, false);
  const Tensor count =
      reduce("total_weight", ReduceOp::kSum,
             pointwise("counted", counted, {valid, weight}, types, t.dtype), all, false);
  set_result(1, count);
  set_result(0, how == 1 ? pointwise("mean", "{0} / {1}", {sum, count}, t.dtype) : sum);
}

}  // namespace kw::teacher
