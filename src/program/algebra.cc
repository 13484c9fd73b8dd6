#include "program/algebra.h"

#include <algorithm>

#include "ops/operator.h"
#include "program/cost.h"
#include "program/linear_map.h"
#include "program/transform.h"

namespace kw {
namespace {

// One rewrite of the forward steps `first` and `second`, where `second` alone reads what `first`
// makes. Rules work on a copy of the task and leave the steps that replace both.
class Rewrite {
 public:
  Rewrite(const Task& task, int first, int second)
      : task_(task), weights_(task_), first_(first), second_(second) {}

  // What was done, and `task` then is the result; empty when no rule applies.
  using Rule = std::string (Rewrite::*)();
  std::string apply(Rule rule) {
    std::string change = (this->*rule)();
    if (change.empty()) return change;
    // In the place of the first step what it read is there, and nothing has overwritten it.
    auto& steps = task_.forward.steps;
    steps.erase(steps.begin() + second_);
    steps.erase(steps.begin() + first_);
    steps.insert(steps.begin() + first_, made_.begin(), made_.end());
    task_ = canonical(task_);
    return change;
  }
  const Task& task() const { return task_; }

  std::string fold_after();
  std::string fold_before();
  std::string merge();
  std::string reduce_before();
  std::string reduce_features();
  std::string pool_before();

 private:
  const Program& forward() const { return task_.forward; }
  const Value& value(ValueId id) const { return forward().values[id]; }
  std::optional<LinearMap> map_at(int step) const {
    return read_linear_map(forward(), forward().steps[step], weights_);
  }

  struct Reduction {
    AtenCall call;
    ValueId result = -1;
    std::set<int> dims;
    bool keepdim = false, mean = false;
    int64_t count = 1;  // elements in each result
  };
  std::optional<Reduction> reduction(const LinearMap& map) const;
  ValueId reduced_input(const LinearMap& map, const Reduction& reduction, bool keepdim);
  void view_as(ValueId from, ValueId result);

  Task task_;
  WeightMaker weights_;
  int first_, second_;
  std::vector<Step> made_;
};

std::string kind(const LinearMap& map) {
  if (!map.convolution) return "a linear layer";
  return map.transposed ? "a transposed convolution" : "a convolution";
}

std::string kind_of_affine(const Step& step) {
  const std::string& op = std::get<AtenCall>(step).op;
  return op.find("batch_norm") != std::string::npos ? "a batch norm" : "a factor or addend";
}

// (x W + b) s + t = x (W s) + (b s + t)
std::string Rewrite::fold_after() {
  const auto map = map_at(first_);
  if (!map) return {};
  const auto affine = read_affine(forward(), forward().steps[second_], map->channel, weights_);
  if (!affine || affine->input != map->result) return {};
  MapWeights made = load(*map, weights_);
  if (affine->scale) {
    made.weight = scale_features(*map, made.weight, *affine->scale, true, weights_);
    if (made.bias) made.bias = weights_.mul(*made.bias, *affine->scale);
  }
  if (affine->shift) {
    if (!made.bias) made.bias = weights_.zeros(map->out_features);
    made.bias = weights_.add(*made.bias, *affine->shift);
  }
  made_ = {emit(*map, map->input, made, affine->result, weights_)};
  return kind_of_affine(forward().steps[second_]) + " folded into " + kind(*map);
}

// (x s + t) W + b = x (s W) + (t W + b); zeros around a convolution's input get no addend.
std::string Rewrite::fold_before() {
  const auto map = map_at(second_);
  if (!map) return {};
  const auto affine = read_affine(forward(), forward().steps[first_], map->channel, weights_);
  if (!affine || affine->result != map->input) return {};
  if (affine->shift && (map->padded || map->transposed)) return {};
  MapWeights made = load(*map, weights_);
  if (affine->shift) {
    const ValueId pushed = push_through(*map, made.weight, *affine->shift, weights_);
    made.bias = made.bias ? weights_.add(*made.bias, {ValueRef{pushed}}) : pushed;
  }
  if (affine->scale) {
    made.weight = scale_features(*map, made.weight, *affine->scale, false, weights_);
  }
  made_ = {emit(*map, affine->input, made, map->result, weights_)};
  return kind_of_affine(forward().steps[first_]) + " folded into " + kind(*map);
}

// (x W + b) V + c = x (W V) + (b V + c)
std::string Rewrite::merge() {
  const auto a = map_at(first_), b = map_at(second_);
  if (!a || !b || b->input != a->result) return {};
  const bool fits = a->pointwise && b->pointwise && a->groups == 1 && b->groups == 1;
  if (!fits || a->convolution != b->convolution) return {};
  const MapWeights wa = load(*a, weights_), wb = load(*b, weights_);
  const ValueId second = weights_.view(wb.weight, {b->out_features, b->in_features});
  MapWeights made;
  made.weight = weights_.mm(second, weights_.view(wa.weight, {a->out_features, a->in_features}));
  made.bias = wb.bias;
  if (wa.bias) {
    const ValueId column = weights_.view(*wa.bias, {a->out_features, 1});
    const ValueId pushed = weights_.view(weights_.mm(second, column), {b->out_features});
    made.bias = wb.bias ? weights_.add(*wb.bias, {ValueRef{pushed}}) : pushed;
  }
  std::vector<int64_t> shape = weights_.shape(wb.weight);
  shape[1] = a->in_features;
  made.weight = weights_.view(made.weight, shape);
  // The second call has no bias to leave out where the first one's has to come in.
  made_ = {emit(*b, a->input, made, b->result, weights_)};
  return "two " + std::string(a->convolution ? "convolutions" : "linear layers") + " made one";
}

// The second step, when it is a mean or a sum over given dimensions of the map's result.
std::optional<Rewrite::Reduction> Rewrite::reduction(const LinearMap& map) const {
  const auto* call = std::get_if<AtenCall>(&forward().steps[second_]);
  if (!call || !is_default(*call, "dtype") || is_default(*call, "dim")) return std::nullopt;
  Reduction out;
  out.mean = call->op == "aten.mean.dim";
  if (!out.mean && call->op != "aten.sum.dim_IntList") return std::nullopt;
  out.call = *call;
  out.result = call->results[0];
  out.keepdim = flag(*call, "keepdim");
  const auto& shape = value(map.result).shape;
  for (int64_t d : integers(*call, "dim", 1)) {
    const int dim = static_cast<int>(d < 0 ? d + static_cast<int64_t>(shape.size()) : d);
    if (out.dims.insert(dim).second) out.count *= shape[dim];
  }
  return out.dims.empty() ? std::nullopt : std::optional(out);
}

// The map's input after the same reduction.
ValueId Rewrite::reduced_input(const LinearMap& map, const Reduction& reduction, bool keepdim) {
  Value like = value(map.input);
  std::vector<int64_t> shape;
  for (int d = 0; d < static_cast<int>(like.shape.size()); ++d) {
    if (!reduction.dims.count(d)) shape.push_back(like.shape[d]);
    if (reduction.dims.count(d) && keepdim) shape.push_back(1);
  }
  like.shape = shape;
  like.strides = contiguous_strides(shape);
  const ValueId out = add_value(task_.forward, like);
  AtenCall call = reduction.call;
  call.args["self"] = {ValueRef{map.input}};
  call.args.erase("keepdim");
  if (keepdim) call.args["keepdim"] = {true};
  call.results = {out};
  made_.push_back(call);
  return out;
}

// `result` as a view of `from`, which has as many elements.
void Rewrite::view_as(ValueId from, ValueId result) {
  task_.forward.values[from].storage = value(result).storage;
  made_.push_back(AtenCall{"aten.view.default",
                           {{"self", {ValueRef{from}}}, {"size", int_list(value(result).shape)}},
                           {result},
                           {}});
}

// The mean of x W + b over positions is (the mean of x) W + b. Over all positions of a transposed
// convolution with nothing cut off, each element of x meets each tap of the window once.
std::string Rewrite::reduce_before() {
  const auto map = map_at(first_);
  const auto reduced = map ? reduction(*map) : std::nullopt;
  if (!reduced || reduced->dims.count(map->channel)) return {};
  if (map->convolution && reduced->dims.count(0)) return {};
  const bool everywhere =
      map->convolution && reduced->dims.size() + 2 == value(map->input).shape.size();
  const bool taps = map->transposed && !map->padded && everywhere && map->groups == 1;
  if (!map->pointwise && !taps) return {};
  MapWeights made = load(*map, weights_);
  if (made.bias && !reduced->mean) {
    made.bias = weights_.mul(*made.bias, {static_cast<double>(reduced->count)});
  }
  const std::string what =
      std::string(reduced->mean ? "a mean" : "a sum") + " moved before " + kind(*map);
  if (!map->convolution) {
    const ValueId input = reduced_input(*map, *reduced, reduced->keepdim);
    made_.push_back(emit(*map, input, made, reduced->result, weights_));
    return what;
  }
  if (everywhere && map->groups == 1) {  // nothing but features is left: a linear layer
    if (taps) {
      std::vector<int64_t> window;
      for (int64_t d = 2; d < static_cast<int64_t>(value(map->input).shape.size()); ++d)
        window.push_back(d);
      made.weight = weights_.transposed(weights_.sum(made.weight, window, false));
      // The mean over more positions than the input has.
      const double inside = static_cast<double>(value(map->input).numel()) /
                            static_cast<double>(value(map->input).shape[0] * map->in_features);
      if (reduced->mean)
        made.weight = weights_.mul(made.weight, {inside / static_cast<double>(reduced->count)});
    }
    made.weight = weights_.view(made.weight, {map->out_features, map->in_features});
    const ValueId input = reduced_input(*map, *reduced, false);
    Value like = value(reduced->result);
    like.shape = {value(map->input).shape[0], map->out_features};
    like.strides = contiguous_strides(like.shape);
    const ValueId result = reduced->keepdim ? add_value(task_.forward, like) : reduced->result;
    made_.push_back(emit_linear(input, made, result, weights_));
    if (reduced->keepdim) view_as(result, reduced->result);
    return what;
  }
  const ValueId input = reduced_input(*map, *reduced, true);
  if (reduced->keepdim) {
    made_.push_back(emit(*map, input, made, reduced->result, weights_));
    return what;
  }
  Value like = value(map->result);
  for (int d : reduced->dims) like.shape[d] = 1;
  like.strides = contiguous_strides(like.shape);
  const ValueId result = add_value(task_.forward, like);
  made_.push_back(emit(*map, input, made, result, weights_));
  view_as(result, reduced->result);
  return what;
}

// The sum of the features of x W + b is x (W 1) + b 1: a map with one feature.
std::string Rewrite::reduce_features() {
  const auto map = map_at(first_);
  const auto reduced = map ? reduction(*map) : std::nullopt;
  if (!reduced || reduced->dims != std::set<int>{map->channel} || map->groups != 1) return {};
  MapWeights made = load(*map, weights_);
  made.weight = weights_.sum(made.weight, {map->transposed ? 1 : 0}, true);
  if (made.bias) made.bias = weights_.sum(*made.bias, {0}, true);
  if (reduced->mean) {
    const Term factor = {1 / static_cast<double>(map->out_features)};
    made.weight = weights_.mul(made.weight, factor);
    if (made.bias) made.bias = weights_.mul(*made.bias, factor);
  }
  Value like = value(map->result);
  like.shape[map->channel] = 1;
  like.strides = contiguous_strides(like.shape);
  const ValueId result = reduced->keepdim ? reduced->result : add_value(task_.forward, like);
  made_.push_back(emit(*map, map->input, made, result, weights_));
  if (!reduced->keepdim) view_as(result, reduced->result);
  return std::string(reduced->mean ? "a mean" : "a sum") + " of features folded into " + kind(*map);
}

// Averages over windows of positions, none of them partly outside, before a map of each position.
std::string Rewrite::pool_before() {
  const auto map = map_at(first_);
  if (!map || !map->convolution || !map->pointwise) return {};
  const auto* pool = std::get_if<AtenCall>(&forward().steps[second_]);
  if (!pool) return {};
  if (pool->op == "aten.avg_pool2d.default" || pool->op == "aten.avg_pool3d.default") {
    for (int64_t p : integers(*pool, "padding", 1)) {
      if (p != 0) return {};
    }
    if (flag(*pool, "ceil_mode") || !is_default(*pool, "divisor_override")) return {};
  } else if (pool->op != "aten._adaptive_avg_pool2d.default" &&
             pool->op != "aten._adaptive_avg_pool3d.default") {
    return {};
  }
  const ValueId result = pool->results[0];
  if (value(result).shape.size() != value(map->input).shape.size()) return {};
  Value like = value(result);
  like.shape[1] = map->in_features;
  like.strides = contiguous_strides(like.shape);
  const ValueId pooled = add_value(task_.forward, like);
  AtenCall call = *pool;
  call.args["self"] = {ValueRef{map->input}};
  call.results = {pooled};
  made_ = {call};
  made_.push_back(emit(*map, pooled, load(*map, weights_), result, weights_));
  return "an average pool moved before " + kind(*map);
}

// Whether a step makes one value that anybody uses: a batch norm's statistics are of no use.
bool makes_one_value(const Step& step, const std::map<ValueId, std::vector<int>>& readers) {
  const auto made = step_defines(step);
  return std::holds_alternative<AtenCall>(step) && !made.empty() &&
         std::all_of(made.begin() + 1, made.end(), [&](ValueId id) { return !readers.count(id); });
}

// The step that reads what step `i` makes, when nobody else can tell that the value between them is
// gone: it is no result, has its memory for itself, and is read once. -1 otherwise.
int only_reader(const Task& task, int i) {
  const Program& forward = task.forward;
  std::map<ValueId, std::vector<int>> readers;
  for (int k = 0; k < static_cast<int>(forward.steps.size()); ++k) {
    Step step = forward.steps[k];
    for_each_value(step, [&](ValueId& id) { readers[id].push_back(k); });
  }
  for (ValueId id : forward.outputs) readers[id].push_back(-1);
  if (!makes_one_value(forward.steps[i], readers)) return -1;
  const ValueId made = step_defines(forward.steps[i])[0];
  const auto sees_it = [&](const Value& v) { return v.storage == forward.values[made].storage; };
  const bool own = std::count_if(forward.values.begin(), forward.values.end(), sees_it) == 1;
  const auto& reading = readers[made];
  if (!own || reading.size() != 1 || reading[0] < 0) return -1;
  return makes_one_value(forward.steps[reading[0]], readers) ? reading[0] : -1;
}

bool cheaper(const Task& task, const Task& than) {
  const Cost a = program_cost(task.forward), b = program_cost(than.forward);
  return a.flops <= b.flops && a.bytes <= b.bytes && (a.flops < b.flops || a.bytes < b.bytes);
}

bool may_map(const Step& step) {
  const auto* call = std::get_if<AtenCall>(&step);
  const OperatorRow* row = call ? find_operator(call->op) : nullptr;
  return row && (row->cls == OpClass::kMatmul || row->cls == OpClass::kConv);
}

// A rule on step `i` and the only reader of its result; false when none applies.
bool simplify_at(int i, Simplified& out) {
  static constexpr Rewrite::Rule kRules[] = {&Rewrite::fold_after,    &Rewrite::fold_before,
                                             &Rewrite::reduce_before, &Rewrite::reduce_features,
                                             &Rewrite::pool_before,   &Rewrite::merge};
  const auto& steps = out.task.forward.steps;
  const int reader = only_reader(out.task, i);
  if (reader < 0 || (!may_map(steps[i]) && !may_map(steps[reader]))) return false;
  for (const Rewrite::Rule rule : kRules) {
    Rewrite rewrite(out.task, i, reader);
    const std::string change = rewrite.apply(rule);
    if (change.empty() || !cheaper(rewrite.task(), out.task)) continue;
    out.task = rewrite.task();
    out.changes.push_back(change);
    return true;
  }
  return false;
}

}  // namespace

std::optional<Simplified> simplified(const Task& task) {
  Simplified out{task, {}};
  for (size_t before = 1; before != out.changes.size();) {
    before = out.changes.size();
    for (int i = 0; i < static_cast<int>(out.task.forward.steps.size()); ++i) {
      while (simplify_at(i, out)) {
      }
    }
    if (out.changes.empty()) return std::nullopt;
  }
  return out;
}

}  // namespace kw
