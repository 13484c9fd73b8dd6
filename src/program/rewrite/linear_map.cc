#include "program/rewrite/linear_map.h"

#include <algorithm>
#include <cmath>

namespace kw {
namespace {

ValueId value_of(const AtenCall& call, const std::string& name) {
  const Arg* arg = call.find(name);
  return arg && arg->is_value() ? arg->value() : -1;
}

std::optional<double> number(const Arg& arg) {
  double x = 0;
  if (const auto* real = std::get_if<double>(&arg.v)) {
    x = *real;
  } else if (const auto* whole = std::get_if<int64_t>(&arg.v)) {
    x = static_cast<double>(*whole);
  } else {
    return std::nullopt;
  }
  return std::isfinite(x) ? std::optional(x) : std::nullopt;
}

std::optional<double> number(const AtenCall& call, const std::string& name, double otherwise) {
  const Arg* arg = call.find(name);
  return arg ? number(*arg) : otherwise;
}

bool takes(const WeightMaker& weights, const Program& program, ValueId id) {
  return id >= 0 && weights.takes(program.values[id].dtype);
}

bool all_are(const std::vector<int64_t>& items, int64_t wanted) {
  return std::all_of(items.begin(), items.end(), [&](int64_t x) { return x == wanted; });
}

bool read_product(const Program& forward, LinearMap& map) {
  const AtenCall& call = map.call;
  if (call.op == "aten.linear.default") {
    map.input = value_of(call, "input");
    map.weight = value_of(call, "weight");
    map.bias = value_of(call, "bias");
  } else if (call.op == "aten.mm.default" || call.op == "aten.matmul.default") {
    map.input = value_of(call, "self");
    map.weight = value_of(call, call.op == "aten.mm.default" ? "mat2" : "other");
    map.weight_transposed = true;
  } else if (call.op == "aten.addmm.default") {
    map.input = value_of(call, "mat1");
    map.weight = value_of(call, "mat2");
    map.bias = value_of(call, "self");
    map.weight_transposed = true;
    const auto alpha = number(call, "alpha", 1), beta = number(call, "beta", 1);
    if (!alpha || !beta) return false;
    map.alpha = *alpha;
    map.beta = *beta;
  } else {
    return false;
  }
  if (map.input < 0 || map.weight < 0) return false;
  const Value &input = forward.values[map.input], &weight = forward.values[map.weight];
  if (input.shape.size() < 2 || weight.shape.size() != 2) return false;
  map.channel = static_cast<int>(input.shape.size()) - 1;
  map.in_features = input.shape.back();
  map.out_features = weight.shape[map.weight_transposed ? 1 : 0];
  map.pointwise = true;
  if (map.bias < 0) return true;
  const Value& bias = forward.values[map.bias];
  return !bias.shape.empty() && bias.shape.back() == map.out_features &&
         bias.numel() == map.out_features;
}

bool read_convolution(const Program& forward, LinearMap& map) {
  const AtenCall& call = map.call;
  if (call.op != "aten.conv1d.default" && call.op != "aten.conv2d.default" &&
      call.op != "aten.conv3d.default" && call.op != "aten.convolution.default") {
    return false;
  }
  map.convolution = true;
  map.transposed = flag(call, "transposed");
  map.input = value_of(call, "input");
  map.weight = value_of(call, "weight");
  map.bias = value_of(call, "bias");
  if (map.input < 0 || map.weight < 0) return false;
  const Value &input = forward.values[map.input], &weight = forward.values[map.weight];
  const size_t rank = weight.shape.size();
  if (input.shape.size() != rank || rank < 3) return false;  // without a batch: other dimensions
  const Arg* groups = call.find("groups");
  map.groups = groups ? std::get<int64_t>(groups->v) : 1;
  map.channel = 1;
  map.in_features = input.shape[1];
  map.out_features = forward.values[map.result].shape[1];
  // Lists that are absent are at their defaults: stride 1, padding 0.
  const auto padding = integers(call, "padding", rank - 2);
  const auto stride = integers(call, "stride", rank - 2);
  map.padded = !all_are(padding, 0);
  const std::vector<int64_t> window(weight.shape.begin() + 2, weight.shape.end());
  map.pointwise = !map.transposed && !map.padded && all_are(window, 1) && all_are(stride, 1);
  return true;
}

// Returns the weight's shape as [groups, a, b, window], in which input and output features are
// separate dimensions. (a, b) is (out, in), or (in, out) for a transposed convolution.
std::vector<int64_t> grouped_shape(const LinearMap& map, const std::vector<int64_t>& shape) {
  std::vector<int64_t> out = {map.groups, shape[0] / map.groups, shape[1]};
  out.insert(out.end(), shape.begin() + 2, shape.end());
  return out;
}

// A constant operand as one term for each feature, when it has no other dimensions.
std::optional<Term> feature_term(const Program& forward, const Arg& operand, const Value& like,
                                 int channel, WeightMaker& weights) {
  if (const auto x = number(operand)) return Term{*x};
  if (!operand.is_value() || !weights.is_constant(operand.value())) return std::nullopt;
  const Value& value = forward.values[operand.value()];
  const int missing = static_cast<int>(like.shape.size() - value.shape.size());
  if (missing < 0) return std::nullopt;
  for (int d = 0; d < static_cast<int>(value.shape.size()); ++d) {
    const bool feature = d + missing == channel && value.shape[d] == like.shape[channel];
    if (!feature && value.shape[d] != 1) return std::nullopt;
  }
  const ValueId id = weights.load(operand.value());
  if (value.numel() == 1) return Term{ValueRef{weights.view(id, {})}};
  return Term{ValueRef{weights.view(id, {value.numel()})}};
}

Term times(const Term& term, double factor, WeightMaker& weights) {
  if (factor == 1) return term;
  if (const auto x = number(term)) return {*x * factor};
  return {ValueRef{weights.mul(term.value(), {factor})}};
}

std::optional<Term> inverse(const Term& term, WeightMaker& weights) {
  if (const auto x = number(term)) return *x != 0 ? std::optional(Term{1 / *x}) : std::nullopt;
  return Term{ValueRef{weights.reciprocal(term.value())}};
}

// (x - mean) / sqrt(var + eps) * weight + bias, with the running statistics.
std::optional<Affine> read_batch_norm(const Program& forward, const AtenCall& call, int channel,
                                      WeightMaker& weights) {
  if (flag(call, "training") || channel != 1) return std::nullopt;
  const ValueId mean = value_of(call, "running_mean"), var = value_of(call, "running_var");
  const ValueId weight = value_of(call, "weight"), bias = value_of(call, "bias");
  const auto eps = number(call, "eps", 0);
  if (!eps || !weights.is_constant(mean) || !weights.is_constant(var)) return std::nullopt;
  if (!weights.is_counted(mean)) return std::nullopt;
  for (ValueId id : {weight, bias}) {
    if (id >= 0 && !weights.is_constant(id)) return std::nullopt;
  }
  Affine out;
  out.input = value_of(call, "input");
  if (!takes(weights, forward, out.input)) return std::nullopt;
  ValueId scale = weights.rsqrt(weights.add(weights.load(var), {*eps}));
  if (weight >= 0) scale = weights.mul(scale, {ValueRef{weights.load(weight)}});
  ValueId shift =
      weights.mul(weights.mul(weights.load(mean), {ValueRef{scale}}), {static_cast<double>(-1)});
  if (bias >= 0) shift = weights.add(shift, {ValueRef{weights.load(bias)}});
  out.scale = Term{ValueRef{scale}};
  out.shift = Term{ValueRef{shift}};
  return out;
}

// Arithmetic of one tensor and one operand for each feature: add, sub, rsub, mul, div.
std::optional<Affine> read_arithmetic(const Program& forward, const AtenCall& call, int channel,
                                      WeightMaker& weights) {
  static const std::set<std::string> kOperators = {
      "aten.add.Tensor",  "aten.add.Scalar",  "aten.sub.Tensor", "aten.sub.Scalar",
      "aten.rsub.Tensor", "aten.rsub.Scalar", "aten.mul.Tensor", "aten.mul.Scalar",
      "aten.div.Tensor",  "aten.div.Scalar"};
  if (!kOperators.count(call.op)) return std::nullopt;
  const std::string name = call.op.substr(5, call.op.find('.', 5) - 5);
  const Arg *self = call.find("self"), *other = call.find("other");
  if (!self || !other) return std::nullopt;
  // Which of the two is the tensor that flows.
  const bool swapped = !self->is_value() || weights.is_constant(self->value());
  const Arg &flowing = swapped ? *other : *self, &operand = swapped ? *self : *other;
  if (!flowing.is_value() || !takes(weights, forward, flowing.value())) return std::nullopt;
  Affine out;
  out.input = flowing.value();
  const Value& like = forward.values[out.input];
  if (channel >= static_cast<int>(like.shape.size())) return std::nullopt;
  const auto alpha = number(call, "alpha", 1);
  const auto term = feature_term(forward, operand, like, channel, weights);
  if (!alpha || !term) return std::nullopt;
  if (name == "mul") {
    out.scale = term;
  } else if (name == "div" && !swapped) {
    out.scale = inverse(*term, weights);
    if (!out.scale) return std::nullopt;
  } else if (name == "add" || name == "sub" || name == "rsub") {
    // first + sign * alpha * second; rsub takes them the other way round.
    const double sign = name == "add" ? *alpha : -*alpha;
    const bool flows_first = (name == "rsub") == swapped;
    out.shift = times(*term, flows_first ? sign : 1, weights);
    if (!flows_first && sign != 1) out.scale = Term{sign};
  } else {
    return std::nullopt;
  }
  return out;
}

}  // namespace

std::vector<int64_t> integers(const AtenCall& call, const std::string& name, size_t count) {
  const Arg* arg = call.find(name);
  std::vector<int64_t> out;
  if (!arg) return out;
  if (const auto* whole = std::get_if<int64_t>(&arg->v)) out.push_back(*whole);
  if (const auto* list = std::get_if<ArgList>(&arg->v)) {
    for (const Arg& item : *list) {
      if (const auto* whole = std::get_if<int64_t>(&item.v)) out.push_back(*whole);
    }
  }
  if (out.size() == 1) out.resize(count, out[0]);
  return out;
}

bool flag(const AtenCall& call, const std::string& name) {
  const Arg* arg = call.find(name);
  return arg && arg->v == decltype(Arg::v)(true);
}

bool is_default(const AtenCall& call, const std::string& name) {
  const Arg* arg = call.find(name);
  return !arg || arg->is_none();
}

std::optional<LinearMap> read_linear_map(const Program& forward, const Step& step,
                                         const WeightMaker& weights) {
  const auto* call = std::get_if<AtenCall>(&step);
  if (!call || call->results.size() != 1 || !call->mutated.empty()) return std::nullopt;
  LinearMap map;
  map.call = *call;
  map.result = call->results[0];
  if (map.result < 0) return std::nullopt;
  map.dtype = forward.values[map.result].dtype;
  if (!read_product(forward, map) && !read_convolution(forward, map)) return std::nullopt;
  for (ValueId id : {map.input, map.result}) {
    if (!takes(weights, forward, id)) return std::nullopt;
  }
  const bool constant =
      weights.is_constant(map.weight) && (map.bias < 0 || weights.is_constant(map.bias));
  return constant ? std::optional(map) : std::nullopt;
}

MapWeights load(const LinearMap& map, WeightMaker& weights) {
  MapWeights out;
  out.weight = weights.load(map.weight);
  if (map.weight_transposed) out.weight = weights.transposed(out.weight);
  if (map.alpha != 1) out.weight = weights.mul(out.weight, {map.alpha});
  if (map.bias < 0 || map.beta == 0) return out;
  out.bias = weights.view(weights.load(map.bias), {map.out_features});
  if (map.beta != 1) out.bias = weights.mul(*out.bias, {map.beta});
  return out;
}

ValueId scale_features(const LinearMap& map, ValueId weight, const Term& factor, bool of_result,
                       WeightMaker& weights) {
  if (!factor.is_value() || weights.shape(factor.value()).empty()) {
    return weights.mul(weight, factor);
  }
  const std::vector<int64_t> shape = weights.shape(weight);
  const std::vector<int64_t> grouped = grouped_shape(map, shape);
  std::vector<int64_t> aligned(grouped.size(), 1);
  const int dim = of_result != map.transposed ? 1 : 2;
  aligned[0] = grouped[0];
  aligned[dim] = grouped[dim];
  const ValueId scaled =
      weights.mul(weights.view(weight, grouped), {ValueRef{weights.view(factor.value(), aligned)}});
  return weights.view(scaled, shape);
}

AtenCall emit_linear(const LinearMap& map, ValueId input, const MapWeights& made,
                     WeightMaker& weights) {
  AtenCall call{
      "aten.linear.default",
      {{"input", {ValueRef{input}}}, {"weight", {ValueRef{weights.store(made.weight, map.dtype)}}}},
      {},
      {}};
  if (made.bias) call.args["bias"] = {ValueRef{weights.store(*made.bias, map.dtype)}};
  return call;
}

AtenCall emit(const LinearMap& map, ValueId input, const MapWeights& made, WeightMaker& weights) {
  if (!map.convolution) return emit_linear(map, input, made, weights);
  AtenCall call = map.call;
  call.args["input"] = {ValueRef{input}};
  call.args["weight"] = {ValueRef{weights.store(made.weight, map.dtype)}};
  if (made.bias) call.args["bias"] = {ValueRef{weights.store(*made.bias, map.dtype)}};
  return call;
}

std::optional<Affine> read_affine(const Program& forward, const Step& step, int channel,
                                  WeightMaker& weights) {
  const auto* call = std::get_if<AtenCall>(&step);
  if (!call || call->results.empty() || !call->mutated.empty()) return std::nullopt;
  const ValueId result = call->results[0];
  if (!takes(weights, forward, result)) return std::nullopt;
  std::optional<Affine> out;
  if (call->op == "aten.batch_norm.default" || call->op == "aten.native_batch_norm.default") {
    out = read_batch_norm(forward, *call, channel, weights);
  } else if (call->op == "aten.neg.default") {
    out = Affine{value_of(*call, "self"), -1, Term{-1.0}, std::nullopt};
  } else {
    out = read_arithmetic(forward, *call, channel, weights);
  }
  if (!out || !takes(weights, forward, out->input)) return std::nullopt;
  if (forward.values[out->input].shape != forward.values[result].shape) return std::nullopt;
  out->result = result;
  return out;
}

}  // namespace kw
