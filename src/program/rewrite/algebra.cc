#include "program/rewrite/algebra.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "ops/operator.h"
#include "program/cost.h"
#include "program/rewrite/linear_map.h"
#include "program/rewrite/transform.h"

namespace kw {
namespace {

int64_t shape_numel(const std::vector<int64_t>& shape) {
  int64_t out = 1;
  for (int64_t d : shape) out *= d;
  return out;
}

// One rewrite of the forward steps `first` and `second`, where `second` alone reads what `first`
// makes. Rules write to the task, and leave the steps that replace both.
class Rewrite {
 public:
  Rewrite(Task& task, WeightUse use, int first, int second)
      : task_(task), weights_(task_, use), first_(first), second_(second) {}

  // What was done, and the task then is the result. Empty when the rule does not apply: then the
  // task has unused values at most, and another rule may be tried.
  using Rule = std::string (Rewrite::*)();
  std::string apply(Rule rule) {
    std::string change = (this->*rule)();
    if (change.empty()) return change;
    // In the place of the first step what it read is there, and nothing has overwritten it.
    for (Step& step : made_) std::get<AtenCall>(step).args.erase(kGiven);
    auto& steps = task_.forward.steps;
    steps.erase(steps.begin() + second_);
    steps.erase(steps.begin() + first_);
    steps.insert(steps.begin() + first_, made_.begin(), made_.end());
    if (weights_.is_priced()) {
      forget_origins();
    } else {
      task_ = canonical(task_);
    }
    return change;
  }

  std::string fold_after();
  std::string fold_before();
  std::string merge();
  std::string compose();
  std::string join();
  std::string reduce_before();
  std::string reduce_features();
  std::string pool_before();

 private:
  const Program& forward() const { return task_.forward; }
  const Value& value(ValueId id) const { return forward().values[id]; }
  std::optional<LinearMap> map_at(int step) const {
    return read_linear_map(forward(), forward().steps[step], weights_);
  }

  // Drops dead steps, and how weights are made: where a task is priced, nobody asks.
  void forget_origins() {
    task_.forward = canonical(task_.forward, task_.kernels);
    Program weights;
    for (auto list : {&Program::inputs, &Program::outputs}) {
      for (ValueId id : task_.derive.*list) {
        (weights.*list).push_back(add_value(weights, task_.derive.values[id]));
      }
    }
    task_.derive = std::move(weights);
  }

  struct Reduction {
    AtenCall call;
    ValueId result = -1;
    std::set<int> dims;
    bool keepdim = false, mean = false;
    int64_t count = 1;  // elements in each result
  };
  std::optional<Reduction> reduction(const LinearMap& map) const;
  ValueId shaped(const std::vector<int64_t>& shape);
  std::optional<int> sole_map_in_sum(ValueId result) const;
  ValueId reduced_input(const LinearMap& map, const Reduction& reduction, bool keepdim);
  ValueId sum_of_taps(const LinearMap& map, const Reduction& reduction, ValueId weight);
  void make(AtenCall call, std::vector<int64_t> shape, ValueId result);

  Task& task_;
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
  make(emit(*map, map->input, made, weights_), value(affine->result).shape, affine->result);
  return kind_of_affine(forward().steps[second_]) + " folded into " + kind(*map);
}

// Folds a factor before a map into its weight: (x s) W + b = x (s W) + b.
//
// An addend before a map is not folded, although (x + t) W = x W + t W. If t subtracts most of x,
// as a mean does, two large products would be subtracted. Trials might not show that error, because
// the state that they draw may differ from the one that a user loads. Where the result is priced
// and never run, the addend becomes a bias.
std::string Rewrite::fold_before() {
  const auto map = map_at(second_);
  if (!map) return {};
  const auto affine = read_affine(forward(), forward().steps[first_], map->channel, weights_);
  if (!affine || affine->result != map->input) return {};
  if (affine->shift && (!weights_.is_priced() || map->padded)) return {};
  if (!affine->shift && !affine->scale) return {};
  MapWeights made = load(*map, weights_);
  if (affine->scale) {
    made.weight = scale_features(*map, made.weight, *affine->scale, false, weights_);
  }
  if (affine->shift && !made.bias) made.bias = weights_.zeros(map->out_features);
  make(emit(*map, affine->input, made, weights_), value(map->result).shape, map->result);
  return kind_of_affine(forward().steps[first_]) + " folded into " + kind(*map);
}

// (x W + b) V + c = x (W V) + (b V + c)
std::string Rewrite::merge() {
  const auto a = map_at(first_), b = map_at(second_);
  if (!a || !b || b->input != a->result) return {};
  const bool fits = b->pointwise && !a->transposed && a->groups == 1 && b->groups == 1;
  if (!fits || a->convolution != b->convolution) return {};
  const MapWeights wa = load(*a, weights_), wb = load(*b, weights_);
  const ValueId second = weights_.view(wb.weight, {b->out_features, b->in_features});
  std::vector<int64_t> shape = weights_.shape(wa.weight);  // with the window of the first
  const int64_t taps = shape_numel(shape) / a->out_features;
  MapWeights made;
  made.weight = weights_.mm(second, weights_.view(wa.weight, {a->out_features, taps}));
  made.bias = wb.bias;
  if (wa.bias) {
    const ValueId column = weights_.view(*wa.bias, {a->out_features, 1});
    const ValueId pushed = weights_.view(weights_.mm(second, column), {b->out_features});
    made.bias = wb.bias ? weights_.add(*wb.bias, {ValueRef{pushed}}) : pushed;
  }
  shape[0] = b->out_features;
  made.weight = weights_.view(made.weight, shape);
  make(emit(*a, a->input, made, weights_), value(b->result).shape, b->result);
  return "two " + std::string(a->convolution ? "convolutions" : "linear layers") + " made one";
}

// A weight of which the shape alone matters.
ValueId Rewrite::shaped(const std::vector<int64_t>& shape) {
  return weights_.view(weights_.zeros(shape_numel(shape)), shape);
}

// Makes two convolutions one of a larger window. Its taps are sums of many products, so it is only
// priced.
std::string Rewrite::compose() {
  const auto a = map_at(first_), b = map_at(second_);
  if (!weights_.is_priced() || !a || !b || b->input != a->result) return {};
  for (const auto& map : {*a, *b}) {
    if (!map.convolution || map.transposed || map.groups != 1) return {};
    for (int64_t d : integers(map.call, "dilation", 1)) {
      if (d != 1) return {};
    }
  }
  if (b->padded) return {};
  std::vector<int64_t> shape = value(a->weight).shape;
  const size_t dims = shape.size() - 2;
  auto steps = integers(a->call, "stride", dims), then = integers(b->call, "stride", dims);
  steps.resize(dims, 1), then.resize(dims, 1);
  shape[0] = b->out_features;
  for (size_t d = 0; d < dims; ++d) {
    shape[d + 2] += (value(b->weight).shape[d + 2] - 1) * steps[d];
    steps[d] *= then[d];
  }
  MapWeights made{shaped(shape), std::nullopt};
  if (a->bias >= 0 || b->bias >= 0) made.bias = shaped({b->out_features});
  AtenCall call = emit(*a, a->input, made, weights_);
  call.args["stride"] = int_list(steps);
  make(std::move(call), value(b->result).shape, b->result);
  return "two convolutions made one";
}

// Returns the step of a map whose result only the second step reads.
std::optional<int> Rewrite::sole_map_in_sum(ValueId result) const {
  int maker = -1;
  int64_t reads = std::count(forward().outputs.begin(), forward().outputs.end(), result);
  for (int i = 0; i < static_cast<int>(forward().steps.size()); ++i) {
    Step step = forward().steps[i];
    for_each_value(step, [&](ValueId& id) { reads += id == result; });
    const std::vector<ValueId> made = step_defines(step);
    if (std::count(made.begin(), made.end(), result) > 0) maker = i;
  }
  const bool sole = maker >= 0 && reads == 1 && map_at(maker);
  return sole ? std::optional(maker) : std::nullopt;
}

// x W + x V = x (W + V), and x W + y W = (x + y) W
std::string Rewrite::join() {
  const auto* sum = std::get_if<AtenCall>(&forward().steps[second_]);
  const bool minus = sum && sum->op == "aten.sub.Tensor";
  if (!sum || (!minus && sum->op != "aten.add.Tensor") || !is_default(*sum, "alpha")) return {};
  const Arg *left = sum->find("self"), *right = sum->find("other");
  if (!left->is_value() || !right->is_value()) return {};
  const auto i = sole_map_in_sum(left->value()), k = sole_map_in_sum(right->value());
  if (!i || !k) return {};
  const LinearMap a = *map_at(*i), b = *map_at(*k);
  const auto settings = [](AtenCall call) {
    for (const char* name : {"input", "self", "mat1", "weight", "other", "mat2", "bias", kGiven}) {
      call.args.erase(name);
    }
    return call.args;
  };
  const bool alike = a.call.op == b.call.op && settings(a.call) == settings(b.call);
  const auto shape = value(a.result).shape;
  if (!alike || shape != value(b.result).shape || (a.bias < 0) != (b.bias < 0)) return {};
  const Term sign = {minus ? -1.0 : 1.0};
  const ValueId result = sum->results[0];
  MapWeights made = load(a, weights_);
  const MapWeights other = load(b, weights_);
  if (made.bias) made.bias = weights_.add(*made.bias, {ValueRef{weights_.mul(*other.bias, sign)}});
  ValueId input = a.input;
  if (a.input == b.input && value(a.weight).shape == value(b.weight).shape) {
    made.weight = weights_.add(made.weight, {ValueRef{weights_.mul(other.weight, sign)}});
  } else if (a.weight == b.weight && value(a.input).shape == value(b.input).shape &&
             !weights_.is_written(a.input) && !weights_.is_written(b.input)) {
    Value like = value(a.input);
    like.strides = contiguous_strides(like.shape);
    input = add_value(task_.forward, like);
    AtenCall call = *sum;
    call.args["self"] = {ValueRef{a.input}};
    call.args["other"] = {ValueRef{b.input}};
    call.results = {input};
    made_.push_back(std::move(call));
    first_ = std::max(*i, *k);  // where both inputs are there
  } else {
    return {};
  }
  make(emit(a, input, made, weights_), shape, result);
  return std::string(minus ? "a difference" : "a sum") + " of two maps made one";
}

// The second step, when it is a mean or a sum over given dimensions of the map's result.
std::optional<Rewrite::Reduction> Rewrite::reduction(const LinearMap& map) const {
  const auto* call = std::get_if<AtenCall>(&forward().steps[second_]);
  if (!call || !is_default(*call, "dtype")) return std::nullopt;
  const bool of_all = call->op == "aten.mean.default" || call->op == "aten.sum.default";
  if (!of_all && is_default(*call, "dim")) return std::nullopt;
  Reduction out;
  out.mean = call->op.starts_with("aten.mean.");
  if (!of_all && call->op != "aten.mean.dim" && call->op != "aten.sum.dim_IntList") {
    return std::nullopt;
  }
  out.call = *call;
  out.call.op = out.mean ? "aten.mean.dim" : "aten.sum.dim_IntList";
  out.result = call->results[0];
  out.keepdim = flag(*call, "keepdim");
  const auto& shape = value(map.result).shape;
  std::vector<int64_t> dims = integers(*call, "dim", 1);
  for (size_t d = 0; of_all && d < shape.size(); ++d) dims.push_back(static_cast<int64_t>(d));
  for (int64_t d : dims) {
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
  like.shape = std::move(shape);
  like.strides = contiguous_strides(like.shape);
  const ValueId out = add_value(task_.forward, like);
  AtenCall call = reduction.call;
  call.args["self"] = {ValueRef{map.input}};
  call.args.erase("keepdim");
  if (keepdim) call.args["keepdim"] = {true};
  call.results = {out};
  made_.push_back(call);
  return out;
}

// The last step: its result is `result`, or of another shape with as many elements and `result` a
// view of it.
void Rewrite::make(AtenCall call, std::vector<int64_t> shape, ValueId result) {
  if (shape == value(result).shape) {
    call.results = {result};
    made_.push_back(std::move(call));
    return;
  }
  Value like = value(result);
  like.shape = std::move(shape);
  like.strides = contiguous_strides(like.shape);
  const ValueId made = add_value(task_.forward, like);
  task_.forward.values[made].storage = value(result).storage;
  call.results = {made};
  made_.push_back(std::move(call));
  made_.push_back(AtenCall{"aten.view.default",
                           {{"self", {ValueRef{made}}}, {"size", int_list(value(result).shape)}},
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
  const std::vector<int64_t> shape = value(map->input).shape;
  const bool everywhere = map->convolution && reduced->dims.size() + 2 == shape.size();
  const bool no_positions = everywhere && map->groups == 1;  // only features are left
  if (!map->pointwise && !(no_positions && map->transposed && !map->padded)) return {};
  MapWeights made = load(*map, weights_);
  if (made.bias && !reduced->mean) {
    made.bias = weights_.mul(*made.bias, {static_cast<double>(reduced->count)});
  }
  if (no_positions) {
    made.weight = sum_of_taps(*map, *reduced, made.weight);
    make(emit_linear(*map, reduced_input(*map, *reduced, false), made, weights_),
         {shape[0], map->out_features}, reduced->result);
  } else {
    // A convolution needs its positions, if only one.
    const bool keep = map->convolution || reduced->keepdim;
    std::vector<int64_t> result = value(reduced->result).shape;
    if (map->convolution) {
      result = value(map->result).shape;
      for (int d : reduced->dims) result[d] = 1;
    }
    make(emit(*map, reduced_input(*map, *reduced, keep), made, weights_), result, reduced->result);
  }
  return std::string(reduced->mean ? "a mean" : "a sum") + " moved before " + kind(*map);
}

// [out, in]: what all positions of a result get of one element of the input, or their mean of the
// mean over the input's positions, which may be fewer.
ValueId Rewrite::sum_of_taps(const LinearMap& map, const Reduction& reduction, ValueId weight) {
  if (!map.transposed) return weights_.view(weight, {map.out_features, map.in_features});
  std::vector<int64_t> window(reduction.dims.begin(), reduction.dims.end());
  weight = weights_.transposed(weights_.sum(weight, window, false));
  if (!reduction.mean) return weight;
  const auto& shape = value(map.input).shape;
  const double positions = static_cast<double>(value(map.input).numel() / (shape[0] * shape[1]));
  return weights_.mul(weight, {positions / static_cast<double>(reduction.count)});
}

// The sum of the features of x W + b is x (W 1) + b 1: a map with one feature. What else is reduced
// is reduced behind it.
std::string Rewrite::reduce_features() {
  const auto map = map_at(first_);
  const auto reduced = map ? reduction(*map) : std::nullopt;
  if (!reduced || !reduced->dims.count(map->channel) || map->groups != 1) return {};
  MapWeights made = load(*map, weights_);
  made.weight = weights_.sum(made.weight, {map->transposed ? 1 : 0}, true);
  if (made.bias) made.bias = weights_.sum(*made.bias, {0}, true);
  if (reduced->mean) {
    const Term factor = {1 / static_cast<double>(map->out_features)};
    made.weight = weights_.mul(made.weight, factor);
    if (made.bias) made.bias = weights_.mul(*made.bias, factor);
  }
  std::vector<int64_t> shape = value(map->result).shape;
  shape[map->channel] = 1;
  AtenCall call = emit(*map, map->input, made, weights_);
  std::vector<int64_t> others(reduced->dims.begin(), reduced->dims.end());
  std::erase(others, map->channel);
  if (!others.empty()) {
    if (map->out_features == 1) return {};
    Value like = value(map->result);
    like.shape = shape;
    like.strides = contiguous_strides(shape);
    call.results = {add_value(task_.forward, like)};
    for (int64_t d : others) shape[d] = 1;
    AtenCall rest = reduced->call;
    rest.args["self"] = {ValueRef{call.results[0]}};
    rest.args["dim"] = int_list(others);
    rest.args["keepdim"] = {true};
    made_.push_back(std::move(call));
    call = std::move(rest);
  }
  make(std::move(call), shape, reduced->result);
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
  made_.push_back(std::move(call));
  make(emit(*map, pooled, load(*map, weights_), weights_), value(result).shape, result);
  return "an average pool moved before " + kind(*map);
}

// Whether a step makes one value that anybody uses: a batch norm's statistics are of no use.
bool makes_one_value(const Step& step, const std::map<ValueId, std::vector<int>>& readers) {
  const auto made = step_defines(step);
  return std::holds_alternative<AtenCall>(step) && !made.empty() &&
         std::all_of(made.begin() + 1, made.end(), [&](ValueId id) { return !readers.count(id); });
}

using Readers = std::map<ValueId, std::vector<int>>;

// Returns the steps that read each value; -1 for an output.
Readers readers_of(const Program& forward) {
  Readers out;
  for (int k = 0; k < static_cast<int>(forward.steps.size()); ++k) {
    Step step = forward.steps[k];
    for_each_value(step, [&](ValueId& id) { out[id].push_back(k); });
  }
  for (ValueId id : forward.outputs) out[id].push_back(-1);
  return out;
}

// Returns the only step that reads the result of step `i`; -1 if there are others, or if the value
// is an output. Views of the value and writes to it count as reads.
int only_reader(const Program& forward, const Readers& readers, int i) {
  if (!makes_one_value(forward.steps[i], readers)) return -1;
  const auto reading = readers.find(step_defines(forward.steps[i])[0]);
  if (reading == readers.end() || reading->second.size() != 1) return -1;
  const int reader = reading->second[0];
  return reader >= 0 && makes_one_value(forward.steps[reader], readers) ? reader : -1;
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

// Applies rules to a Task while they make it cheaper.
class Simplifier {
 public:
  using Cheaper = std::function<bool(const Task& task, const Task& than)>;
  Simplifier(const Task& task, WeightUse use, Cheaper cheaper)
      : out_{task, {}}, scratch_(task), use_(use), cheaper_(std::move(cheaper)) {}

  Simplified run() {
    for (size_t before = 1; before != out_.changes.size();) {
      before = out_.changes.size();
      readers_ = readers_of(out_.task.forward);
      for (int i = 0; i < static_cast<int>(out_.task.forward.steps.size()); ++i) {
        while (apply_at(i)) readers_ = readers_of(out_.task.forward);
      }
      if (out_.changes.empty()) break;
    }
    return std::move(out_);
  }

 private:
  // A rule on step `i` and the only reader of its result; false when none applies.
  bool apply_at(int i) {
    static constexpr Rewrite::Rule kRules[] = {&Rewrite::fold_after,    &Rewrite::fold_before,
                                               &Rewrite::reduce_before, &Rewrite::reduce_features,
                                               &Rewrite::pool_before,   &Rewrite::merge,
                                               &Rewrite::compose,       &Rewrite::join};
    const auto& steps = out_.task.forward.steps;
    if (i >= static_cast<int>(steps.size())) return false;
    const int reader = only_reader(out_.task.forward, readers_, i);
    if (reader < 0 || (!may_map(steps[i]) && !may_map(steps[reader]))) return false;
    std::optional<Rewrite> rewrite;
    for (const Rewrite::Rule rule : kRules) {
      if (!rewrite) rewrite.emplace(scratch_, use_, i, reader);
      const std::string change = rewrite->apply(rule);
      if (change.empty()) continue;
      if (cheaper_(scratch_, out_.task)) {
        out_.task = scratch_;
        out_.changes.push_back(change);
        return true;
      }
      rewrite.reset();
      scratch_ = out_.task;
    }
    if (has_more_values()) scratch_ = out_.task;
    return false;
  }

  // Whether rules that did not apply have left values.
  bool has_more_values() const {
    return scratch_.forward.values.size() != out_.task.forward.values.size() ||
           scratch_.derive.values.size() != out_.task.derive.values.size();
  }

  Simplified out_;
  Task scratch_;  // like out_.task, for the next rewrite
  const WeightUse use_;
  const Cheaper cheaper_;
  Readers readers_;
};

}  // namespace

std::optional<Simplified> simplified(const Task& task) {
  Simplified out = Simplifier(task, WeightUse::kRun, cheaper).run();
  return out.changes.empty() ? std::nullopt : std::optional(std::move(out));
}

double least_price(const Task& task, const TaskPrice& price) {
  double least = price(task);
  Task bare;
  bare.state.resize(task.state.size());
  bare.derive = task.derive;
  bare.forward = task.forward;
  for (const Kernel& kernel : task.kernels) {  // what they read and write
    Kernel& own = bare.kernels.emplace_back();
    own.params = kernel.params;
    if (!kernel.compiled) continue;
    own.compiled = Compiled{.reads = kernel.compiled->reads, .writes = kernel.compiled->writes};
  }
  Simplifier(bare, WeightUse::kPrice, [&](const Task& form, const Task&) {
    const double tried = price(form);
    const bool less = tried < least;
    least = std::min(least, tried);
    return less;
  }).run();
  return least;
}

}  // namespace kw
