#include "verify/numerics/domain.h"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>

#include "ops/operator.h"
#include "program/makers.h"

namespace kw {
namespace {

const OperatorRow* row_of(const AtenCall& call) {
  const OperatorRow* row = find_operator(call.op);
  return row ? &work_row(*row) : nullptr;
}

bool any_call(const Program& program, const std::function<bool(const AtenCall&)>& holds) {
  return std::any_of(program.steps.begin(), program.steps.end(), [&](const Step& step) {
    const auto* call = std::get_if<AtenCall>(&step);
    return call && holds(*call);
  });
}

bool is_integer(const Program& program, ValueId id) {
  return id >= 0 && is_integral(program.values[id].dtype);
}

// Whether integers are made of floating numbers.
bool makes_integers(const Program& program, const AtenCall& call) {
  const std::vector<ValueId> operands = operands_of(call);
  return std::any_of(call.results.begin(), call.results.end(),
                     [&](ValueId id) { return is_integer(program, id); }) &&
         std::any_of(operands.begin(), operands.end(),
                     [&](ValueId id) { return is_floating(program.values[id].dtype); });
}

// Whether it holds for an operator, or for one of the steps that spell it.
bool for_some_step(const OperatorRow& row, const std::function<bool(const OperatorRow&)>& holds) {
  if (holds(row)) return true;
  std::istringstream steps{std::string(row.steps)};
  for (std::string name; steps >> name;) {
    const OperatorRow* step = find_operator("aten." + name);
    if (step && for_some_step(*step, holds)) return true;
  }
  return false;
}

bool is_choice(const AtenCall& call) {
  const OperatorRow* row = row_of(call);
  return row && (row->numerics == Numerics::kChoice || row->numerics == Numerics::kAnyChoice);
}

// Normal numbers, by a factor, seen through views and copies.
bool is_around_zero(const Program& program, ValueId id) {
  const AtenCall* call = maker_of(program, id);
  const OperatorRow* row = call ? find_operator(call->op) : nullptr;
  if (!row) return false;
  if (row->cls == OpClass::kRandom) {
    const Arg* mean = call->find("mean");
    return row->name.find(".randn") != row->name.npos && !mean;
  }
  const bool same = row->cls == OpClass::kView || row->cls == OpClass::kCopy;
  const bool scaled = row->name == "aten.mul.Tensor" || row->name == "aten.mul.Scalar" ||
                      row->name == "aten.div.Tensor" || row->name == "aten.div.Scalar";
  const std::vector<ValueId> operands = operands_of(*call);
  return (same || scaled) && operands.size() == 1 && is_around_zero(program, operands[0]);
}

// The storages that hold something of what `marked` says, after each step in turn.
std::set<int> storages_with(const Program& program, std::set<int> marked,
                            const std::function<bool(const AtenCall&, size_t)>& marks) {
  const auto holds = [&](ValueId id) {
    return id >= 0 && marked.contains(program.values[id].storage);
  };
  for (const Step& step : program.steps) {
    if (const auto* launch = std::get_if<Launch>(&step)) {
      std::vector<ValueId> touched;
      for (const Arg& arg : launch->args) {
        if (arg.is_value() && arg.value() >= 0) touched.push_back(arg.value());
      }
      if (std::none_of(touched.begin(), touched.end(), holds)) continue;
      for (ValueId id : touched) marked.insert(program.values[id].storage);
      continue;
    }
    const auto& call = std::get<AtenCall>(step);
    const std::vector<ValueId> operands = operands_of(call);
    const bool all = std::any_of(operands.begin(), operands.end(), holds);
    for (size_t i = 0; i < call.results.size(); ++i) {
      const ValueId id = call.results[i];
      if (id >= 0 && (all || marks(call, i))) marked.insert(program.values[id].storage);
    }
    for (ValueId id : call.mutated) {
      if (all) marked.insert(program.values[id].storage);
    }
  }
  return marked;
}

// The outputs in `storages`; all where `all` says so, or an input is in one.
std::set<size_t> outputs_in(const Program& program, const std::set<int>& storages, bool all) {
  for (ValueId id : program.inputs) all = all || storages.contains(program.values[id].storage);
  std::set<size_t> out;
  for (size_t i = 0; i < program.outputs.size(); ++i) {
    if (all || storages.contains(program.values[program.outputs[i]].storage)) out.insert(i);
  }
  return out;
}

// Whether an integer among the operands may be an index.
bool may_look_up(const AtenCall& call) {
  const OperatorRow* row = row_of(call);
  if (!row) return true;
  return row->cls != OpClass::kPointwise && row->cls != OpClass::kView &&
         !(row->cls == OpClass::kCopy && operands_of(call).size() == 1);
}

}  // namespace

bool is_drawn_around_zero(const Task& task) {
  const Program& inputs = task.inputs;
  return std::all_of(inputs.outputs.begin(), inputs.outputs.end(), [&](ValueId id) {
    return !is_floating(real_type(inputs.values[id].dtype)) ||
           (is_around_zero(inputs, id) && !is_overwritten(inputs, id));
  });
}

bool gives_integers(const Task& task) {
  bool sums = false;
  for (const Step& step : task.forward.steps) {
    const auto* call = std::get_if<AtenCall>(&step);
    const OperatorRow* row = call ? row_of(*call) : nullptr;
    if (!row || !row->integers) return false;
    sums = sums || row->numerics == Numerics::kMatmul || row->numerics == Numerics::kReduction;
  }
  return sums;
}

std::set<size_t> outputs_by_conversion(const Task& task) {
  const Program& forward = task.forward;
  const auto converts = [&](const AtenCall& call) {
    const OperatorRow* row = row_of(call);
    const bool counts = row && (row->cls == OpClass::kReduction || row->cls == OpClass::kSort);
    return !is_choice(call) && !counts && makes_integers(forward, call);
  };
  const std::set<int> marked =
      storages_with(forward, {}, [&](const AtenCall& call, size_t) { return converts(call); });
  const bool looks_up = any_call(forward, [&](const AtenCall& call) {
    const std::vector<ValueId> operands = operands_of(call);
    return may_look_up(call) && std::any_of(operands.begin(), operands.end(), [&](ValueId id) {
             return is_integer(forward, id) && marked.contains(forward.values[id].storage);
           });
  });
  return outputs_in(forward, marked, looks_up);
}

std::set<size_t> outputs_by_index(const Task& task) {
  const Program& forward = task.forward;
  const std::set<int> marked = storages_with(forward, {}, [&](const AtenCall& call, size_t result) {
    return is_choice(call) && is_integer(forward, call.results[result]);
  });
  return outputs_in(forward, marked, false);
}

std::set<size_t> index_outputs(const Task& task) {
  const Program& forward = task.forward;
  std::set<size_t> out;
  for (size_t i = 0; i < forward.outputs.size(); ++i) {
    const AtenCall* call = maker_of(forward, forward.outputs[i]);
    if (call && is_choice(*call) && is_integer(forward, forward.outputs[i])) out.insert(i);
  }
  return out;
}

bool asks_what_is_finite(const Task& task) {
  return any_call(task.forward, [&](const AtenCall& call) {
    const OperatorRow* row = row_of(call);
    if (!row) return false;
    if (asks_what_is_finite(*row)) return true;
    const Arg *self = call.find("self"), *other = call.find("other");
    const bool by_itself = self && other && self->is_value() && *self == *other;  // x != x
    if (by_itself && (row->name.starts_with("aten.ne.") || row->name.starts_with("aten.eq."))) {
      return true;
    }
    // torch.isfinite compares with infinity.
    const double* number = other ? std::get_if<double>(&other->v) : nullptr;
    const bool compares = call.results.size() == 1 && call.results[0] >= 0 &&
                          task.forward.values[call.results[0]].dtype == DType::kBool;
    return compares && number && std::isinf(*number);
  });
}

bool has_exponentials(const Task& task) {
  return any_call(task.forward, [](const AtenCall& call) {
    const OperatorRow* row = row_of(call);
    return row && for_some_step(*row, [](const OperatorRow& step) {
             return step.numerics == Numerics::kExponential;
           });
  });
}

bool compares(const Task& task) {
  return any_call(task.forward, [&](const AtenCall& call) {
    const OperatorRow* row = row_of(call);
    if (is_choice(call) || (row && row->numerics == Numerics::kCompare)) return true;
    // Whether computed numbers are equal is a matter of rounding.
    return is_one_of(call.op, {"eq", "ne", "bucketize", "searchsorted"}) &&
           std::ranges::none_of(operands_of(call), [&](ValueId operand) {
             return is_computed(task.forward, operand);
           });
  });
}

bool reduces_rows(const Task& task) {
  return any_call(task.forward, [](const AtenCall& call) {
    const OperatorRow* row = row_of(call);
    return row && for_some_step(*row, [](const OperatorRow& step) {
             return step.cls == OpClass::kReduction || step.cls == OpClass::kNorm;
           });
  });
}

bool has_exponentials_in_rows(const Task& task) {
  const bool scans = any_call(task.forward, [](const AtenCall& call) {
    const OperatorRow* row = row_of(call);
    return row && row->cls == OpClass::kScan;
  });
  return has_exponentials(task) && (scans || reduces_rows(task));
}

bool takes_roots(const Task& task) {
  return any_call(task.forward, [](const AtenCall& call) {
    const OperatorRow* row = row_of(call);
    return row && for_some_step(*row, [](const OperatorRow& step) {
             return step.cls == OpClass::kNorm || step.name.starts_with("aten.sqrt.") ||
                    step.name.starts_with("aten.rsqrt.") || step.name.starts_with("aten.std") ||
                    step.name.starts_with("aten.var");
           });
  });
}

bool has_constants(const Task& task) {
  const Program& inputs = task.inputs;
  return std::any_of(inputs.outputs.begin(), inputs.outputs.end(), [&](ValueId id) {
    const Value& value = inputs.values[id];
    return value.dtype == DType::kBool ||
           (is_floating(real_type(value.dtype)) && !is_drawn(inputs, id));
  });
}

bool updates_state(const Task& task) {
  const Program& forward = task.forward;
  std::set<int> state;
  for (size_t i = 0; i < task.state.size() && i < forward.inputs.size(); ++i) {
    state.insert(forward.values[forward.inputs[i]].storage);
  }
  return std::any_of(forward.steps.begin(), forward.steps.end(), [&](const Step& step) {
    const std::vector<ValueId> written = step_writes(step, task.kernels);
    return std::any_of(written.begin(), written.end(),
                       [&](ValueId id) { return state.contains(forward.values[id].storage); });
  });
}

}  // namespace kw
