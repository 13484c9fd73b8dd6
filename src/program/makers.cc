#include "program/makers.h"

#include <algorithm>
#include <array>
#include <optional>
#include <variant>

#include "ops/operator.h"
#include "program/cost.h"

namespace kw {
namespace {

bool is_contiguous(const Value& value) {
  int64_t step = 1;
  for (size_t d = value.shape.size(); d-- > 0;) {
    if (value.shape[d] != 1 && value.strides[d] != step) return false;
    step *= value.shape[d];
  }
  return true;
}

// Attention and recurrent networks do. Where it is no plain 0, they may.
bool drops_out(const AtenCall& call) {
  const Arg* train = call.find("train");
  if (train && train->v == decltype(train->v)(false)) return false;
  return std::ranges::any_of(std::array{"dropout_p", "dropout"}, [&](const char* name) {
    const Arg* share = call.find(name);
    return share && share->v != decltype(share->v)(0.0) &&
           share->v != decltype(share->v)(int64_t{0});
  });
}

// Returns what `id` is a view of, of all its elements or of some.
std::optional<ValueId> viewed_by(const Program& program, ValueId id) {
  const AtenCall* call = maker_of(program, id);
  const OperatorRow* row = call ? find_operator(call->op) : nullptr;
  const Arg* self = call ? call->find("self") : nullptr;
  if (!row || row->cls != OpClass::kView || !self || !self->is_value()) return std::nullopt;
  return self->value();
}

}  // namespace

bool is_constant(const Step& step) {
  const auto* call = std::get_if<AtenCall>(&step);
  return call && call->op == kConstant;
}

const ArgList* numbers_of(const AtenCall& call) {
  const Arg* data = call.op == kConstant ? call.find("data") : nullptr;
  return data ? std::get_if<ArgList>(&data->v) : nullptr;
}

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> names) {
  return std::ranges::any_of(names, [&](std::string_view name) {
    return op.starts_with("aten." + std::string(name) + ".");
  });
}

bool is_random(const AtenCall& call) {
  const OperatorRow* row = find_operator(call.op);
  return (row && row->cls == OpClass::kRandom) || drops_out(call);
}

bool is_random(const Step& step) {
  const auto* call = std::get_if<AtenCall>(&step);
  return call && is_random(*call);
}

std::vector<bool> used_inputs(const Program& program) {
  std::set<ValueId> used(program.outputs.begin(), program.outputs.end());
  for (Step step : program.steps) {
    for_each_value(step, [&](ValueId& id) { used.insert(id); });
  }
  std::vector<bool> out;
  for (ValueId id : program.inputs) out.push_back(used.contains(id));
  return out;
}

std::set<int> written_storages(const Program& program, const std::vector<Kernel>& kernels) {
  std::set<int> out;
  for (const Step& step : program.steps) {
    for (ValueId id : step_writes(step, kernels)) out.insert(program.values[id].storage);
  }
  return out;
}

const AtenCall* maker_of(const Program& program, ValueId id) {
  for (const Step& step : program.steps) {
    const auto* call = std::get_if<AtenCall>(&step);
    if (call && std::count(call->results.begin(), call->results.end(), id)) return call;
  }
  return nullptr;
}

std::vector<ValueId> operands_of(const AtenCall& call) {
  std::vector<ValueId> out;
  const auto take = [&](const Arg& arg) {
    if (arg.is_value() && arg.value() >= 0) out.push_back(arg.value());
  };
  for (const auto& [name, arg] : call.args) {
    take(arg);
    const auto* list = std::get_if<ArgList>(&arg.v);
    if (list) std::for_each(list->begin(), list->end(), take);
  }
  return out;
}

bool is_opaque(const AtenCall& call) { return is_opaque_operator(call.op); }

bool does_arithmetic(const AtenCall& call) {
  const OperatorRow* row = find_operator(call.op);
  if (!row) return true;
  const OpClass cls = work_row(*row).cls;
  return is_computing(cls) && cls != OpClass::kCopy && !fills_memory(call);
}

bool is_computed(const Program& program, ValueId id) {
  const AtenCall* call = maker_of(program, id);
  if (!call) return false;
  if (does_arithmetic(*call)) return true;
  const std::vector<ValueId> operands = operands_of(*call);
  return std::any_of(operands.begin(), operands.end(),
                     [&](ValueId operand) { return is_computed(program, operand); });
}

bool is_drawn(const Program& program, ValueId id) {
  const AtenCall* call = maker_of(program, id);
  const OperatorRow* row = call ? find_operator(call->op) : nullptr;
  if (!row) return false;
  if (row->cls == OpClass::kRandom) return true;
  const std::vector<ValueId> operands = operands_of(*call);
  return std::any_of(operands.begin(), operands.end(),
                     [&](ValueId operand) { return is_drawn(program, operand); });
}

ValueId behind_views(const Program& program, ValueId id) {
  while (const auto from = viewed_by(program, id)) {
    const Value &whole = program.values[*from], &view = program.values[id];
    if (!is_contiguous(whole) || !is_contiguous(view) || whole.numel() != view.numel()) break;
    id = *from;
  }
  return id;
}

ValueId viewed_value(const Program& program, ValueId id) {
  while (const auto from = viewed_by(program, id)) id = *from;
  return id;
}

void Following::add(ValueId id) {
  if (id >= 0) storages_.insert(program_.values[id].storage);
}

bool Following::has(ValueId id) const { return storages_.contains(program_.values[id].storage); }

bool Following::pass(const Step& step, bool begins) {
  if (!begins &&
      std::ranges::none_of(step_reads(step, kernels_), [&](ValueId id) { return has(id); })) {
    return false;
  }
  for (const ValueId id : step_defines(step)) add(id);
  for (const ValueId id : step_writes(step, kernels_)) add(id);
  return true;
}

bool is_overwritten(const Program& program, ValueId id) {
  const int storage = program.values[id].storage;
  return std::any_of(program.steps.begin(), program.steps.end(), [&](const Step& step) {
    const auto* call = std::get_if<AtenCall>(&step);
    return !call || std::any_of(call->mutated.begin(), call->mutated.end(), [&](ValueId written) {
      return program.values[written].storage == storage;
    });
  });
}

}  // namespace kw
