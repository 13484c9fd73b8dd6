#include "search/form/bias.h"

#include "ops/operator.h"
#include "program/rewrite/transform.h"
#include "program/rewrite/weights.h"

namespace kw {

std::optional<Task> biases_apart(const Task& task, const RecordAgain& record_again) {
  Task out = task;
  WeightMaker weights(out);
  std::vector<Step> steps;
  for (const Step& step : task.forward.steps) {
    const auto* call = std::get_if<AtenCall>(&step);
    const OperatorRow* row = call ? find_operator(call->op) : nullptr;
    const Arg* bias = row && row->cls == OpClass::kConv ? call->find("bias") : nullptr;
    const bool constant = bias && bias->is_value() && weights.is_constant(bias->value());
    if (!constant || task.forward.values[call->results[0]].dtype != DType::kFloat32) {
      steps.push_back(step);
      continue;
    }
    AtenCall bare = *call;
    bare.args["bias"] = {};
    bare.results = {add_value(out.forward, task.forward.values[call->results[0]])};
    const ValueId loaded = weights.load(bias->value());
    std::vector<int64_t> shape = weights.shape(loaded);  // [features]
    shape.resize(task.forward.values[call->find("weight")->value()].shape.size() - 1, 1);
    const ValueId shift = weights.store(weights.view(loaded, shape));
    steps.push_back(bare);
    steps.push_back(AtenCall{"aten.add.Tensor",
                             {{"self", {ValueRef{bare.results[0]}}}, {"other", {ValueRef{shift}}}},
                             call->results,
                             {}});
  }
  if (steps.size() == task.forward.steps.size()) return std::nullopt;
  out.forward.steps = std::move(steps);
  return record_again(out);
}

}  // namespace kw
