// Losses are a pointwise formula of input and target, and after it nothing, a mean or a sum.
#include <numeric>

#include "teacher/lower/rules.h"

namespace kw::teacher {
namespace {

// Returns `t`, its mean or its sum, by the `reduction` argument.
Tensor averaged(Builder& b, Call& call, Tensor t) {
  const int64_t how = call.integer("reduction", 1);
  std::vector<int> dims(t.rank());
  std::iota(dims.begin(), dims.end(), 0);
  if (how == 0) return t;
  t = b.put_apart(std::move(t));
  return how == 1 ? mean_of(b, t, dims, false) : b.reduce("total", ReduceOp::kSum, t, dims, false);
}

// What losses of an input and a target are made of.
struct LossOperands {
  Tensor input, target;
  DType dtype;  // of the loss
};

LossOperands loss_operands(Builder& b, Call& call) {
  const DType dtype = call.result_value().dtype;
  if (!is_floating(dtype)) throw Refusal{"a loss of integers"};
  Tensor x = b.use(b.cast("cast", call.operand("self"), dtype));
  Tensor y = b.use(b.cast("cast", call.operand("target"), dtype));
  return {std::move(x), std::move(y), dtype};
}

void lower_mse_loss(Builder& b, Call& call) {
  const auto [x, y, dtype] = loss_operands(b, call);
  const Tensor difference = b.pointwise("difference", "{0} - {1}", {x, y}, dtype);
  Tensor out = b.pointwise("square", "{0} * {0}", {difference}, dtype);
  call.set_result(0, averaged(b, call, std::move(out)));
}

void lower_smooth_l1_loss(Builder& b, Call& call) {
  const auto [x, y, dtype] = loss_operands(b, call);
  Tensor out = b.pointwise("distance", "tl.abs({0} - {1})", {x, y}, dtype);
  if (const double given = call.number("beta", 1); given != 0) {
    const std::string beta = literal(given, register_type(dtype));
    out = b.pointwise(
        "smooth",
        "tl.where({0} < " + beta + ", 0.5 * {0} * {0} / " + beta + ", {0} - 0.5 * " + beta + ")",
        {out}, dtype);
  }
  call.set_result(0, averaged(b, call, std::move(out)));
}

void lower_huber_loss(Builder& b, Call& call) {
  const auto [x, y, dtype] = loss_operands(b, call);
  const std::string delta = literal(call.number("delta", 1), register_type(dtype));
  Tensor out = b.pointwise("distance", "tl.abs({0} - {1})", {x, y}, dtype);
  out = b.pointwise("huber",
                    "tl.where({0} <= " + delta + ", 0.5 * {0} * {0}, " + delta +
                        " * ({0} - 0.5 * " + delta + "))",
                    {out}, dtype);
  call.set_result(0, averaged(b, call, std::move(out)));
}

void lower_soft_margin_loss(Builder& b, Call& call) {
  const auto [x, y, dtype] = loss_operands(b, call);
  Tensor out = b.pointwise("margin", "libdevice.log1p(tl.exp(-{1} * {0}))", {x, y}, dtype);
  call.set_result(0, averaged(b, call, std::move(out)));
}

// Gives the loss, multiplied by the `weight` argument and then averaged.
void give_weighted(Builder& b, Call& call, Tensor loss) {
  const DType dtype = loss.dtype;
  if (call.present("weight")) {
    const Tensor weight = b.use(b.cast("cast", call.operand("weight"), dtype));
    loss = b.pointwise("weighted", "{0} * {1}", {loss, weight}, dtype);
  }
  call.set_result(0, averaged(b, call, std::move(loss)));
}

void lower_binary_cross_entropy(Builder& b, Call& call) {
  const auto [x, y, dtype] = loss_operands(b, call);
  give_weighted(b, call,
                b.pointwise("cross_entropy",
                            "({1} - 1.0) * tl.maximum(libdevice.log1p(-{0}), -100.0) - {1} * "
                            "tl.maximum(tl.log({0}), -100.0)",
                            {x, y}, dtype));
}

void lower_binary_cross_entropy_with_logits(Builder& b, Call& call) {
  const auto [x, y, dtype] = loss_operands(b, call);
  Tensor out = b.pointwise(
      "softplus", "libdevice.log1p(tl.exp(-tl.abs({0}))) + tl.maximum(-{0}, 0.0)", {x}, dtype);
  if (call.present("pos_weight")) {
    const Tensor more = b.use(b.cast("cast", call.operand("pos_weight"), dtype));
    out = b.pointwise("scaled", "(1.0 + ({1} - 1.0) * {2}) * {0}", {out, more, y}, dtype);
  }
  out = b.pointwise("cross_entropy", "(1.0 - {1}) * {0} + {2}", {x, y, out}, dtype);
  give_weighted(b, call, std::move(out));
}

// nll_loss is minus the target class's value, weighted by class. Targets to be ignored count as 0.
void lower_nll_loss(Builder& b, Call& call) {
  const Tensor t = b.use(call.operand("self"));
  const Tensor target = b.use(call.operand("target"));
  if (!is_integral(target.dtype)) throw Refusal{"classes that are not integers"};
  const DType type = register_type(t.dtype);
  const int classes = t.rank() == 1 ? 0 : 1;
  if (t.rank() < 1 || target.rank() != t.rank() - 1) throw Refusal{"classes of another rank"};
  const std::string ignored = literal(call.number("ignore_index", -100), DType::kInt64);
  const Tensor valid = b.pointwise("valid", "{0} != " + ignored, {target},
                                   {register_type(target.dtype)}, DType::kBool);
  Tensor label = target;  // uint8 and the like cannot be an offset
  label.node = integer_node(b, "label", "{0}", {target.node});
  std::vector<std::vector<Piece>> dims(static_cast<size_t>(target.rank()));
  for (int d = 0; d < target.rank(); ++d) {
    dims[d] = joined(b, call, {t, target}, {d < classes ? d : d + 1, d});
  }
  auto pick = [&](const Tensor& from, int dim) {
    Position position;
    position.node = label.node;
    position.guard = valid.node;
    Positions at;
    place(b, from, dim, position, at);
    return taken(b, from, at, dims);
  };
  Tensor loss = b.pointwise("likelihood", "-{0}", {pick(t, classes)}, t.dtype);
  Tensor weight = b.constant(literal(1.0, type), t.dtype);
  if (call.present("weight")) {
    weight = pick(b.use(call.operand("weight")), 0);
    loss = b.pointwise("weighted", "{0} * {1}", {loss, weight}, t.dtype);
  }
  const std::string zero = literal(0.0, type);
  const std::string counted = "tl.where({0}, {1}, " + zero + ")";
  const std::vector<DType> types = {DType::kBool, type};
  loss = b.pointwise("loss", counted, {valid, loss}, types, t.dtype);
  const int64_t how = call.integer("reduction", 1);
  if (how == 0) return call.set_result(0, loss);
  loss = b.put_apart(std::move(loss));
  std::vector<int> all(target.rank());
  std::iota(all.begin(), all.end(), 0);
  const Tensor sum = b.reduce("total", ReduceOp::kSum, loss, all, false);
  const Tensor count =
      b.reduce("total_weight", ReduceOp::kSum,
               b.pointwise("counted", counted, {valid, weight}, types, t.dtype), all, false);
  call.set_result(1, count);
  call.set_result(0, how == 1 ? b.pointwise("mean", "{0} / {1}", {sum, count}, t.dtype) : sum);
}

constexpr LoweringRule kLossRules[] = {
    {"aten.binary_cross_entropy", lower_binary_cross_entropy},
    {"aten.binary_cross_entropy_with_logits", lower_binary_cross_entropy_with_logits},
    {"aten.huber_loss", lower_huber_loss},
    {"aten.mse_loss", lower_mse_loss},
    {"aten.nll_loss2d_forward", lower_nll_loss},
    {"aten.nll_loss_forward", lower_nll_loss},
    {"aten.smooth_l1_loss", lower_smooth_l1_loss},
    {"aten.soft_margin_loss", lower_soft_margin_loss},
};

}  // namespace

std::span<const LoweringRule> loss_rules() { return kLossRules; }

}  // namespace kw::teacher
