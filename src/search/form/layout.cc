#include "search/form/layout.h"

#include <algorithm>
#include <map>
#include <set>

#include "ops/operator.h"
#include "program/rewrite/transform.h"

namespace kw {
namespace {

constexpr const char* kClone = "aten.clone.default";

bool is_convolution(const Step& step) {
  const auto* call = std::get_if<AtenCall>(&step);
  const OperatorRow* row = call ? find_operator(call->op) : nullptr;
  return row && row->cls == OpClass::kConv;
}

// Returns the strides of a dense tensor with the channels innermost.
std::vector<int64_t> channels_last_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  int64_t next = shape[1];
  for (size_t d = shape.size() - 1; d >= 2; --d) {
    strides[d] = next;
    next *= shape[d];
  }
  strides[0] = next;
  return strides;
}

// Returns whether two strides address the same memory: dimensions of size 1 do not count.
bool same_walk(const std::vector<int64_t>& shape, const std::vector<int64_t>& a,
               const std::vector<int64_t>& b) {
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] != 1 && a[d] != b[d]) return false;
  }
  return true;
}

bool has_layout(const Value& value) { return value.shape.size() == 4 || value.shape.size() == 5; }

// A program that is being rewritten: copies the old steps one by one, with conversions in between.
class Rewrite {
 public:
  explicit Rewrite(const Task& task) : task_(task), out_(task) { out_.forward.steps.clear(); }

  std::optional<Task> run() {
    for (const Step& old : task_.forward.steps) {
      Step step = old;
      for_each_value(step, [&](ValueId& id) {
        if (const auto found = converted_.find(id); found != converted_.end()) id = found->second;
      });
      if (is_convolution(step)) convert_operands(std::get<AtenCall>(step));
      out_.forward.steps.push_back(std::move(step));
    }
    if (!changed_) return std::nullopt;
    for (size_t i = 0; i < task_.forward.outputs.size(); ++i) convert_back(i);
    return std::move(out_);
  }

 private:
  void convert_operands(AtenCall& call) {
    for (const char* role : {"input", "weight"}) {
      const auto found = call.args.find(role);
      if (found == call.args.end() || !found->second.is_value()) continue;
      const ValueId id = found->second.value();
      if (id < 0 || !has_layout(out_.forward.values[id])) continue;
      const auto& inputs = task_.forward.inputs;
      const size_t place = std::find(inputs.begin(), inputs.end(), id) - inputs.begin();
      const bool constant = place < task_.state.size() + task_.derive.outputs.size();
      found->second.v = ValueRef{constant ? pack(id, place) : convert(id)};
      changed_ = true;
    }
  }

  static AtenCall clone(ValueId from, ValueId to, const Value& value, bool last) {
    const char* format = !last                     ? "contiguous_format"
                         : value.shape.size() == 4 ? "channels_last"
                                                   : "channels_last_3d";
    return {kClone,
            {{"self", {ValueRef{from}}}, {"memory_format", {MemoryFormatArg{format}}}},
            {to},
            {}};
  }

  static ValueId add_copy(Program& program, Value value, bool last) {
    value.strides = last ? channels_last_strides(value.shape) : contiguous_strides(value.shape);
    return add_value(program, std::move(value));
  }

  // Adds a converted copy to the forward program; later steps use it in place of the original.
  ValueId convert(ValueId id) {
    const Value value = out_.forward.values[id];
    const ValueId copy = add_copy(out_.forward, value, true);
    out_.forward.steps.push_back(clone(id, copy, value, true));
    return converted_[id] = copy;
  }

  // Adds a converted copy of a parameter, or of what is derived from parameters, made once.
  ValueId pack(ValueId id, size_t place) {
    if (const auto found = packed_.find(id); found != packed_.end()) return found->second;
    Program& derive = out_.derive;
    const size_t state = out_.state.size();
    const ValueId source = place < state ? derive.inputs[place] : derive.outputs[place - state];
    const Value value = derive.values[source];
    const ValueId made = add_copy(derive, value, true);
    derive.steps.push_back(clone(source, made, value, true));
    return packed_[id] = add_derived(out_, made);
  }

  void convert_back(size_t output) {
    ValueId& id = out_.forward.outputs[output];
    if (const auto found = converted_.find(id); found != converted_.end()) {
      id = found->second;
    }
    const Value value = out_.forward.values[id];
    const auto& inputs = task_.forward.inputs;
    if (!has_layout(value) || std::find(inputs.begin(), inputs.end(), id) != inputs.end()) return;
    const Value& wanted = task_.forward.values[task_.forward.outputs[output]];
    if (!same_walk(wanted.shape, wanted.strides, contiguous_strides(wanted.shape))) return;
    const ValueId copy = add_copy(out_.forward, value, false);
    out_.forward.steps.push_back(clone(id, copy, value, false));
    id = copy;
  }

  const Task& task_;
  Task out_;
  std::map<ValueId, ValueId> converted_, packed_;
  bool changed_ = false;
};

bool is_clone(const Program& program, ValueId id) {
  return std::any_of(program.steps.begin(), program.steps.end(), [&](const Step& step) {
    const auto* call = std::get_if<AtenCall>(&step);
    return call && call->op == kClone && call->results[0] == id;
  });
}

// Removes clones of values that have the layout already, by the recorded strides. A clone stays if
// the removal could be noticed: if either side is written to or handed in, or if the original is a
// result.
bool drop_idle_clones(Task& task) {
  Program& forward = task.forward;
  std::map<ValueId, ValueId> same;
  std::set<int> shared;
  for (const Step& step : forward.steps) {
    for (ValueId id : step_writes(step, task.kernels)) shared.insert(forward.values[id].storage);
  }
  for (ValueId id : forward.inputs) shared.insert(forward.values[id].storage);
  for (ValueId id : forward.outputs) {
    if (!is_clone(forward, id)) shared.insert(forward.values[id].storage);
  }
  std::vector<Step> kept;
  for (Step& step : forward.steps) {
    for_each_value(step, [&](ValueId& id) {
      if (const auto found = same.find(id); found != same.end()) id = found->second;
    });
    const auto* call = std::get_if<AtenCall>(&step);
    if (call && call->op == kClone) {
      const ValueId from = call->find("self")->value(), to = call->results[0];
      const Value &a = forward.values[from], &b = forward.values[to];
      const bool free = !shared.count(a.storage) && !shared.count(b.storage);
      if (free && same_walk(a.shape, a.strides, b.strides)) {
        same[to] = from;
        continue;
      }
    }
    kept.push_back(std::move(step));
  }
  for (ValueId& id : forward.outputs) {
    if (const auto found = same.find(id); found != same.end()) id = found->second;
  }
  forward.steps = std::move(kept);
  return !same.empty();
}

}  // namespace

std::optional<Task> channels_last(const Task& task, const RecordAgain& record_again) {
  const std::optional<Task> rewritten = Rewrite(task).run();
  std::optional<Task> out = rewritten ? record_again(*rewritten) : std::nullopt;
  if (out && drop_idle_clones(*out)) out = record_again(canonical(*out));
  return out;
}

}  // namespace kw
