#include "search/bias.h"

#include <algorithm>
#include <set>

#include "ops/operator.h"
#include "program/transform.h"

namespace kw {
namespace {

// A derived input [features, 1, ...] that goes with the bias at input `place` of forward. Equal
// ones become one when the program is recorded again.
ValueId column(Task& task, size_t place, size_t spatial) {
  Program& derive = task.derive;
  const size_t state = task.state.size();
  const ValueId source = place < state ? derive.inputs[place] : derive.outputs[place - state];
  Value value = derive.values[source];
  std::vector<int64_t> shape = value.shape;
  shape.resize(1 + spatial, 1);
  ArgList size;
  for (int64_t extent : shape) size.push_back({extent});
  value.shape = shape;
  value.strides = contiguous_strides(shape);
  const ValueId made = add_value(derive, std::move(value));
  derive.steps.push_back(
      AtenCall{"aten.view.default", {{"self", {ValueRef{source}}}, {"size", {size}}}, {made}, {}});
  return add_derived(task, made);
}

}  // namespace

std::optional<Task> biases_apart(const Task& task, const RecordAgain& record_again) {
  Task out = task;
  out.forward.steps.clear();
  const std::vector<ValueId>& inputs = task.forward.inputs;
  const size_t constants = task.state.size() + task.derive.outputs.size();
  std::set<int> written;
  for (const Step& step : task.forward.steps) {
    for (ValueId id : step_writes(step, task.kernels)) {
      written.insert(task.forward.values[id].storage);
    }
  }
  bool changed = false;
  for (const Step& step : task.forward.steps) {
    const auto* call = std::get_if<AtenCall>(&step);
    const OperatorRow* row = call ? find_operator(call->op) : nullptr;
    const Arg* bias = row && row->cls == OpClass::kConv ? call->find("bias") : nullptr;
    if (bias && bias->is_value()) {
      const size_t place = std::find(inputs.begin(), inputs.end(), bias->value()) - inputs.begin();
      const Value result = task.forward.values[call->results[0]];
      const size_t rank = task.forward.values[call->find("weight")->value()].shape.size();
      if (place < constants && result.dtype == DType::kFloat32 && rank > 2 &&
          written.count(task.forward.values[bias->value()].storage) == 0) {
        AtenCall bare = *call;
        bare.args["bias"] = {};
        bare.results = {add_value(out.forward, result)};
        const ValueId shift = column(out, place, rank - 2);
        out.forward.steps.push_back(bare);
        out.forward.steps.push_back(
            AtenCall{"aten.add.Tensor",
                     {{"self", {ValueRef{bare.results[0]}}}, {"other", {ValueRef{shift}}}},
                     call->results,
                     {}});
        changed = true;
        continue;
      }
    }
    out.forward.steps.push_back(step);
  }
  return changed ? record_again(out) : std::nullopt;
}

}  // namespace kw
