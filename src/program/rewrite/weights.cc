#include "program/rewrite/weights.h"

#include <algorithm>

#include "ops/operator.h"
#include "program/makers.h"
#include "program/rewrite/transform.h"

namespace kw {
namespace {

constexpr const char* kCast = "aten._to_copy.default";

// Steps that may run in derive: no memory that is only reserved, nothing random, nothing in place.
bool may_hoist(const AtenCall& call) {
  if (!call.mutated.empty()) return false;
  if (call.op == kConstant) return true;
  const OperatorRow* row = find_operator(call.op);
  return row && (row->cls == OpClass::kView || row->cls == OpClass::kPointwise ||
                 row->cls == OpClass::kCopy || row->cls == OpClass::kReduction);
}

}  // namespace

Arg int_list(const std::vector<int64_t>& items) {
  ArgList out(items.size());
  for (size_t i = 0; i < items.size(); ++i) out[i].v = items[i];
  return {std::move(out)};
}

WeightMaker::WeightMaker(Task& task, WeightUse use) : task_(task), use_(use) {
  const Program& forward = task.forward;
  for (int i = 0; i < static_cast<int>(forward.steps.size()); ++i) {
    for (ValueId id : step_writes(forward.steps[i], task.kernels)) {
      written_.insert(forward.values[id].storage);
    }
    for (ValueId id : step_defines(forward.steps[i])) makers_[id] = i;
  }
}

bool WeightMaker::takes(DType dtype) const {
  return dtype == DType::kFloat32 || (is_priced() && is_floating(dtype));
}

bool WeightMaker::is_written(ValueId id) const {
  return written_.count(task_.forward.values[id].storage) > 0;
}

bool WeightMaker::is_constant(ValueId id) const {
  const Program& forward = task_.forward;
  if (id < 0 || is_written(id) || !takes(forward.values[id].dtype)) return false;
  const auto place = std::find(forward.inputs.begin(), forward.inputs.end(), id);
  if (place != forward.inputs.end()) {
    const size_t constants = task_.state.size() + task_.derive.outputs.size();
    return static_cast<size_t>(place - forward.inputs.begin()) < constants;
  }
  const auto maker = makers_.find(id);
  if (maker == makers_.end()) return false;
  const auto* call = std::get_if<AtenCall>(&forward.steps[maker->second]);
  if (!call || !may_hoist(*call)) return false;
  const auto reads = step_reads(*call, task_.kernels);
  return std::all_of(reads.begin(), reads.end(), [&](ValueId read) { return is_constant(read); });
}

bool WeightMaker::is_counted(ValueId running_mean) const {
  if (is_priced()) return true;
  const auto& inputs = task_.forward.inputs;
  const size_t place = std::find(inputs.begin(), inputs.end(), running_mean) - inputs.begin();
  if (place >= task_.state.size() || task_.state[place].names.empty()) return false;
  const std::string& name = task_.state[place].names[0];
  const std::string counter = name.substr(0, name.rfind('.') + 1) + "num_batches_tracked";
  return std::any_of(task_.state.begin(), task_.state.end(), [&](const StateEntry& entry) {
    return std::count(entry.names.begin(), entry.names.end(), counter) > 0;
  });
}

// The value itself, in derive.
ValueId WeightMaker::hoist(ValueId id) {
  const Program& forward = task_.forward;
  if (const auto known = hoisted_.find(id); known != hoisted_.end()) return known->second;
  const auto place = std::find(forward.inputs.begin(), forward.inputs.end(), id);
  if (place != forward.inputs.end()) {
    const size_t index = place - forward.inputs.begin(), state = task_.state.size();
    return hoisted_[id] =
               index < state ? task_.derive.inputs[index] : task_.derive.outputs[index - state];
  }
  AtenCall call = std::get<AtenCall>(forward.steps[makers_.at(id)]);
  Step step = call;
  std::map<int, int> storages;
  for_each_value(step, [&](ValueId& read) {
    const int storage = forward.values[read].storage;
    read = hoist(read);
    storages[storage] = task_.derive.values[read].storage;
  });
  call = std::get<AtenCall>(step);
  for (ValueId& result : call.results) {
    if (result < 0) continue;
    const Value& value = forward.values[result];
    const ValueId made = add_value(task_.derive, value);
    if (const auto same = storages.find(value.storage); same != storages.end()) {
      task_.derive.values[made].storage = same->second;
    }
    hoisted_[result] = made;
    result = made;
  }
  task_.derive.steps.push_back(call);
  return hoisted_.at(id);
}

ValueId WeightMaker::load(ValueId forward_value) {
  const ValueId id = hoist(forward_value);
  // What an earlier rewrite rounded is taken before it was.
  for (const Step& step : task_.derive.steps) {
    const auto* made = std::get_if<AtenCall>(&step);
    if (!made || made->op != kCast || made->results[0] != id) continue;
    const ValueId source = made->find("self")->value();
    if (task_.derive.values[source].dtype == DType::kFloat64) return source;
  }
  return call(kCast,
              {{"self", {ValueRef{id}}},
               {"dtype", {DType::kFloat64}},
               {"memory_format", {MemoryFormatArg{"contiguous_format"}}}},
              shape(id));
}

ValueId WeightMaker::store(ValueId id, DType dtype) {
  return add_derived(task_,
                     call(kCast, {{"self", {ValueRef{id}}}, {"dtype", {dtype}}}, shape(id), dtype));
}

ValueId WeightMaker::call(const std::string& op, std::map<std::string, Arg> args,
                          std::vector<int64_t> shape, DType dtype) {
  Value value;
  value.dtype = dtype;
  value.strides = contiguous_strides(shape);
  value.shape = std::move(shape);
  const ValueId made = add_value(task_.derive, value);
  task_.derive.steps.push_back(AtenCall{op, std::move(args), {made}, {}});
  return made;
}

ValueId WeightMaker::mul(ValueId a, const Term& b) {
  return call("aten.mul.Tensor", {{"self", {ValueRef{a}}}, {"other", b}}, shape(a));
}

ValueId WeightMaker::add(ValueId a, const Term& b) {
  return call("aten.add.Tensor", {{"self", {ValueRef{a}}}, {"other", b}}, shape(a));
}

ValueId WeightMaker::reciprocal(ValueId a) {
  return call("aten.reciprocal.default", {{"self", {ValueRef{a}}}}, shape(a));
}

ValueId WeightMaker::rsqrt(ValueId a) {
  return call("aten.rsqrt.default", {{"self", {ValueRef{a}}}}, shape(a));
}

ValueId WeightMaker::view(ValueId a, const std::vector<int64_t>& shape) {
  if (this->shape(a) == shape) return a;
  const ValueId made =
      call("aten.view.default", {{"self", {ValueRef{a}}}, {"size", int_list(shape)}}, shape);
  task_.derive.values[made].storage = task_.derive.values[a].storage;
  return made;
}

ValueId WeightMaker::transposed(ValueId matrix) {
  const std::vector<int64_t> turned_shape = {shape(matrix)[1], shape(matrix)[0]};
  const ValueId turned = call("aten.t.default", {{"self", {ValueRef{matrix}}}}, turned_shape);
  task_.derive.values[turned].storage = task_.derive.values[matrix].storage;
  task_.derive.values[turned].strides = {1, turned_shape[0]};
  return call(
      "aten.clone.default",
      {{"self", {ValueRef{turned}}}, {"memory_format", {MemoryFormatArg{"contiguous_format"}}}},
      turned_shape);
}

ValueId WeightMaker::sum(ValueId a, const std::vector<int64_t>& dims, bool keepdim) {
  std::vector<int64_t> result;
  for (size_t d = 0; d < shape(a).size(); ++d) {
    const bool summed = std::count(dims.begin(), dims.end(), static_cast<int64_t>(d)) > 0;
    if (!summed) result.push_back(shape(a)[d]);
    if (summed && keepdim) result.push_back(1);
  }
  std::map<std::string, Arg> args = {{"self", {ValueRef{a}}}, {"dim", int_list(dims)}};
  if (keepdim) args["keepdim"] = {true};
  return call("aten.sum.dim_IntList", std::move(args), std::move(result));
}

ValueId WeightMaker::mm(ValueId a, ValueId b) {
  return call("aten.mm.default", {{"self", {ValueRef{a}}}, {"mat2", {ValueRef{b}}}},
              {shape(a)[0], shape(b)[1]});
}

ValueId WeightMaker::zeros(int64_t count) {
  return call(
      "aten.zeros.default",
      {{"size", int_list({count})}, {"dtype", {DType::kFloat64}}, {"device", {DeviceArg{}}}},
      {count});
}

}  // namespace kw
