#include "teacher/lower/lowering.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "ops/operator.h"
#include "teacher/lower/finish.h"
#include "teacher/lower/rules.h"

namespace kw::teacher {
namespace {

bool makes_rows(const OperatorRow& row) {
  return row.cls == OpClass::kReduction || row.cls == OpClass::kScan ||
         row.cls == OpClass::kSoftmax || row.cls == OpClass::kNorm || row.cls == OpClass::kLoss;
}

// Returns the call that gives a new value instead of writing in place: x.add_(y) is add whose
// result replaces x. A few operators have no such form (fill_) and stay as they are.
AtenCall functional_form(const AtenCall& call) {
  AtenCall out = call;
  const size_t dot = out.op.rfind('.');
  if (call.mutated.empty() || dot == std::string::npos || out.op[dot - 1] != '_') return out;
  if (call.mutated.size() != 1 || call.results.size() != 1) {
    throw Refusal{call.op + " writes in place"};
  }
  out.op.erase(dot - 1, 1);
  if (!find_operator(out.op)) out.op = call.op;
  return out;
}

// One lowering of one fragment.
class Lowering {
 public:
  Lowering(const Task& task, bool shared_uses, const Stored& stored)
      : task_(task),
        stored_(stored),
        b_(task.forward, shared_uses, stored.reductions),
        values_(b_) {}
  Graph run();

 private:
  void add_input(int index, const Value& value);
  void step(const AtenCall& call);
  void put_arguments_apart(const AtenCall& call);
  void store_results(const AtenCall& call);
  std::optional<Output> stored_result(ValueId id);
  void add_outputs();

  const Task& task_;
  const Stored& stored_;
  Builder b_;
  Values values_;
  std::map<ValueId, int> memory_;  // of stored_.values: the input that each is for later kernels
};

Graph Lowering::run() {
  if (!task_.state.empty() || !task_.derive.outputs.empty()) {
    throw Refusal{"the task has state: only fragments are written"};
  }
  const Program& forward = task_.forward;
  if (forward.inputs.empty()) throw Refusal{"no argument to take a device from"};
  for (size_t i = 0; i < forward.inputs.size(); ++i) {
    add_input(static_cast<int>(i), forward.values[forward.inputs[i]]);
  }
  for (size_t i = 0; i < forward.steps.size(); ++i) {
    const AtenCall* call = std::get_if<AtenCall>(&forward.steps[i]);
    if (!call) throw Refusal{"a launch among the steps"};
    b_.begin_step(static_cast<int>(i));
    step(*call);
  }
  b_.begin_step(-1);
  add_outputs();
  finish(b_);
  return std::move(b_.graph());
}

void Lowering::add_input(int index, const Value& value) {
  Tensor t;
  t.input = index;
  t.dtype = value.dtype;
  for (size_t d = 0; d < value.shape.size(); ++d) {
    if (value.shape[d] == 0) throw Refusal{"an empty tensor"};
    std::vector<Piece> pieces;
    if (value.shape[d] > 1) {
      const AxisId axis = b_.axes().fresh(value.shape[d]);
      const int64_t factor = value.strides[d] == 0 ? 0 : 1;
      pieces.push_back({axis, {static_cast<int>(d), factor, {}}});
      b_.graph().origins.push_back({{axis}, index, static_cast<int>(d)});
    }
    t.dims.push_back(std::move(pieces));
  }
  values_.set(b_.program().inputs[index], std::move(t));
}

void Lowering::step(const AtenCall& given) {
  const AtenCall functional = functional_form(given);
  const OperatorRow* row = find_operator(functional.op);
  if (!row) throw Refusal{functional.op + " is not in the table"};
  for (ValueId id : given.mutated) values_.updated_argument(id);
  if (makes_rows(*row)) put_arguments_apart(functional);
  Call call(b_, values_, functional);
  if (const LoweringRule* rule = find_rule(functional.op)) {
    rule->lower(b_, call);
  } else {
    lower_table_expression(b_, call);
  }
  for (ValueId id : given.mutated) {
    if (!values_.take_overwritten(id)) throw Refusal{given.op + " writes in place"};
  }
  store_results(functional);
}

void Lowering::put_arguments_apart(const AtenCall& call) {
  std::vector<Output>& outputs = b_.graph().outputs;
  for (const auto& [name, arg] : call.args) {
    if (!arg.is_value()) continue;
    Tensor* t = values_.find(arg.value());
    if (!t) continue;
    const size_t stored = outputs.size();
    *t = b_.put_apart(*t);
    if (outputs.size() > stored) outputs.back().holds = arg.value();
  }
}

// What reads a stored result walks separate loops.
void Lowering::store_results(const AtenCall& call) {
  for (ValueId id : call.results) {
    Tensor* t = values_.find(id);
    if (!t || !stored_.values.count(id)) continue;
    const Tensor stored = b_.materialized(*t, &b_.program().values[id]);
    memory_[id] = stored.input;
    b_.graph().outputs.back().holds = id;
    *t = b_.fresh_clone(stored);
    for (int d = 0; d < t->rank(); ++d) {
      b_.graph().origins.push_back({t->axes(d), stored.input, d});
    }
  }
}

void Lowering::add_outputs() {
  const Program& program = b_.program();
  std::set<int> storages;
  std::vector<Output> results;
  for (ValueId input : program.inputs) storages.insert(program.values[input].storage);
  for (ValueId id : program.outputs) {
    const Tensor* t = values_.find(id);
    if (!t || values_.is_stale(id)) throw Refusal{"a result was not lowered"};
    const Value& value = program.values[id];
    if (!storages.insert(value.storage).second) throw Refusal{"a result aliases another tensor"};
    std::optional<Output> stored = stored_result(id);
    results.push_back(stored ? std::move(*stored) : b_.output_of(b_.use(*t), id));
  }
  for (const auto& [input, tensor] : values_.updates()) {
    results.push_back(b_.output_of(b_.use(tensor), program.inputs[input]));
    results.back().target = input;
  }
  // What materialized() stored comes last.
  std::vector<Output>& outputs = b_.graph().outputs;
  outputs.insert(outputs.begin(), results.begin(), results.end());
  number_outputs(b_.graph());
}

// Returns a result that is in memory already, laid out as it is wanted, and removes it there.
std::optional<Output> Lowering::stored_result(ValueId id) {
  const auto memory = memory_.find(id);
  if (memory == memory_.end()) return std::nullopt;
  std::vector<Output>& outputs = b_.graph().outputs;
  const auto found = std::find_if(outputs.begin(), outputs.end(),
                                  [&](const Output& o) { return o.target == memory->second; });
  if (found == outputs.end()) return std::nullopt;
  const std::vector<Value>& values = b_.program().values;
  if (values[found->value].strides != values[id].strides) return std::nullopt;
  Output out = std::move(*found);
  outputs.erase(found);
  return out;
}

}  // namespace

Graph lower(const Task& task, const Stored& stored) {
  for (const Value& value : task.forward.values) {
    if (is_complex(value.dtype)) throw Refusal{"complex numbers, which Triton does not have"};
  }
  try {
    return Lowering(task, true, stored).run();
  } catch (const Refusal&) {
    return Lowering(task, false, stored).run();
  }
}

}  // namespace kw::teacher
