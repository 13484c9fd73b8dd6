#include "program/rewrite/tables.h"

#include <algorithm>
#include <set>

#include "formats/base/error.h"
#include "ops/operator.h"
#include "program/makers.h"
#include "program/rewrite/appender.h"
#include "program/rewrite/step_history.h"

namespace kw {
namespace {

// Whether a tensor made from nothing has equal elements. torch.empty counts as such.
bool makes_equal_numbers(const AtenCall& call) {
  if (const ArgList* data = numbers_of(call)) {
    return std::ranges::all_of(*data, [&](const Arg& item) { return item == data->front(); });
  }
  return is_one_of(call.op, {"empty", "zeros", "ones", "full", "scalar_tensor", "empty_like",
                             "zeros_like", "ones_like", "full_like", "new_empty", "new_zeros",
                             "new_ones", "new_full", "empty_strided", "new_empty_strided"});
}

// Follows which storages hold equal numbers through the steps of a constructor.
class EqualNumbers {
 public:
  EqualNumbers(const Program& init, const std::vector<Kernel>& kernels) : init_(init) {
    for (const Step& step : init.steps) {
      if (const auto* call = std::get_if<AtenCall>(&step)) {
        follow(*call);
      } else {
        for (ValueId id : step_writes(step, kernels)) equal_.erase(init.values[id].storage);
      }
    }
  }
  bool holds(ValueId id) const { return equal_.contains(init_.values[id].storage); }

 private:
  void follow(const AtenCall& call) {
    const OperatorRow* row = find_operator(call.op);
    const OpClass cls = row ? work_row(*row).cls : OpClass::kRandom;
    if (cls == OpClass::kView) return;  // the storage is what it was
    const std::vector<ValueId> operands = operands_of(call);
    const bool from_equal = std::ranges::all_of(operands, [&](ValueId id) {
      return std::ranges::count(call.mutated, id) > 0 || holds(id);
    });
    if (!call.mutated.empty()) {
      const ValueId target = call.mutated.front();
      const int storage = init_.values[target].storage;
      const bool fills = is_one_of(call.op, {"zero_", "fill_", "copy_"});
      const bool equal = from_equal && is_whole(target) &&
                         (fills || (cls == OpClass::kPointwise && holds(target)));
      for (ValueId id : call.mutated) equal_.erase(init_.values[id].storage);
      if (equal) equal_.insert(storage);
      return;
    }
    const bool made = call.op == kConstant || cls == OpClass::kFactory
                          ? makes_equal_numbers(call)
                          : from_equal && (cls == OpClass::kPointwise ||
                                           is_one_of(call.op, {"clone", "contiguous", "_to_copy",
                                                               "repeat", "flip", "roll"}));
    for (ValueId id : call.results) {
      if (id >= 0 && made) equal_.insert(init_.values[id].storage);
    }
  }

  // Whether a value shows all elements that any value of its storage does.
  bool is_whole(ValueId id) const {
    const Value& value = init_.values[id];
    return std::ranges::all_of(init_.values, [&](const Value& other) {
      return other.storage != value.storage || other.numel() <= value.numel();
    });
  }

  const Program& init_;
  std::set<int> equal_;
};

}  // namespace

std::vector<bool> tables(const Task& task) {
  const Program& init = task.init;
  std::set<int> changing;  // storages of parameters
  for (size_t i = 0; i < task.state.size(); ++i) {
    if (task.state[i].kind == "parameter") changing.insert(init.values[init.outputs[i]].storage);
  }
  const StepHistory history(init, task.kernels);
  const EqualNumbers equal(init, task.kernels);
  const std::set<int> written = written_storages(task.forward, task.kernels);
  std::vector<bool> out;
  for (size_t i = 0; i < task.state.size(); ++i) {
    const ValueId value = init.outputs[i];
    const auto is_fixed = [&](int step) {
      if (is_random(init.steps[step]) || std::holds_alternative<Launch>(init.steps[step])) {
        return false;
      }
      bool of_parameter = false;
      Step copy = init.steps[step];
      for_each_value(copy, [&](ValueId& id) {
        of_parameter = of_parameter || changing.contains(init.values[id].storage);
      });
      return !of_parameter;
    };
    const bool statistic = task.state[i].kind == "buffer" && !task.state[i].premise &&
                           is_floating(init.values[value].dtype) && equal.holds(value);
    out.push_back(!statistic && !changing.contains(init.values[value].storage) &&
                  !written.contains(task.forward.values[task.forward.inputs[i]].storage) &&
                  std::ranges::all_of(history.steps_of(value), is_fixed));
  }
  return out;
}

std::vector<int> varied_state(const Task& task) {
  const std::vector<bool> fixed = tables(task);
  std::vector<int> out;
  for (size_t i = 0; i < task.state.size(); ++i) {
    const Value& value = task.init.values[task.init.outputs[i]];
    if (!fixed[i] && is_floating(real_type(value.dtype))) out.push_back(static_cast<int>(i));
  }
  return out;
}

void mark_premises(Task& task) {
  const std::vector<bool> fixed = tables(task), in_forward = used_inputs(task.forward),
                          in_derive = used_inputs(task.derive);
  for (size_t i = 0; i < task.state.size(); ++i) {
    if (fixed[i] && (in_forward[i] || in_derive[i])) task.state[i].premise = true;
  }
}

Program premises_of(const Task& task) {
  if (std::ranges::none_of(task.state, &StateEntry::premise)) return {};
  const std::vector<bool> fixed = tables(task);
  const StepHistory history(task.init, task.kernels);
  std::set<int> steps;
  for (size_t i = 0; i < task.state.size(); ++i) {
    if (!task.state[i].premise) continue;
    if (!fixed[i]) throw InputError("export: state " + std::to_string(i) + " is no table");
    const std::vector<int> its = history.steps_of(task.init.outputs[i]);
    steps.insert(its.begin(), its.end());
  }
  Program out;
  int next_storage = 0;
  Appender appender(task.init, out, next_storage);
  for (int i : steps) appender.step(task.init.steps[i]);
  for (size_t i = 0; i < task.state.size(); ++i) {
    if (task.state[i].premise) out.outputs.push_back(appender.make(task.init.outputs[i]));
  }
  return out;
}

}  // namespace kw
