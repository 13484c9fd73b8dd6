#include "teacher/nodes/values.h"

#include <algorithm>

namespace kw::teacher {

Tensor* Values::find(ValueId id) {
  const auto it = tensors_.find(id);
  return it == tensors_.end() ? nullptr : &it->second;
}

Tensor Values::read(ValueId id, const std::string& op) const {
  const auto it = tensors_.find(id);
  if (it == tensors_.end()) throw Refusal{op + " reads a value that was not lowered"};
  if (stale_.contains(id)) throw Refusal{"a value is read after it was overwritten"};
  return it->second;
}

void Values::set_result(const AtenCall& call, ValueId id, Tensor t) {
  b_.note_layout(t.axes());
  for (ValueId old : call.mutated) {
    if (program().values[old].storage == program().values[id].storage) overwrite(old, t);
  }
  if (t.node >= 0 && b_.node(t.node).value < 0) b_.graph().nodes[t.node].value = id;
  tensors_[id] = std::move(t);
}

int Values::updated_argument(ValueId mutated) const {
  const Value& value = program().values[mutated];
  int found = -1;
  for (int i = 0; i < b_.graph().inputs; ++i) {
    const Value& input = program().values[program().inputs[i]];
    if (input.storage != value.storage) continue;
    if (found >= 0) throw Refusal{"an argument is overwritten that aliases another"};
    found = i;
    bool whole =
        input.shape == value.shape && input.dtype == value.dtype && input.offset == value.offset;
    for (size_t d = 0; whole && d < value.shape.size(); ++d) {
      whole = value.shape[d] == 1 || (input.strides[d] == value.strides[d] && value.strides[d] > 0);
    }
    if (!whole) throw Refusal{"a part of an argument is overwritten"};
  }
  return found;
}

void Values::overwrite(ValueId mutated, Tensor t) {
  const int storage = program().values[mutated].storage;
  for (const auto& entry : tensors_) {
    if (program().values[entry.first].storage == storage) stale_.insert(entry.first);
  }
  const int argument = updated_argument(mutated);
  if (argument >= 0) updates_[argument] = std::move(t);
  overwritten_.insert(mutated);
}

void Values::renew(ValueId id, Tensor t) {
  stale_.erase(id);
  tensors_[id] = std::move(t);
}

bool Values::is_used(ValueId id) const {
  auto names = [&](const Arg& arg) {
    if (arg.is_value()) return arg.value() == id;
    const ArgList* list = std::get_if<ArgList>(&arg.v);
    return list && std::any_of(list->begin(), list->end(), [&](const Arg& item) {
             return item.is_value() && item.value() == id;
           });
  };
  for (const Step& step : program().steps) {
    const AtenCall* call = std::get_if<AtenCall>(&step);
    if (!call) return true;
    for (const auto& [name, arg] : call->args) {
      if (names(arg)) return true;
    }
  }
  const std::vector<ValueId>& outputs = program().outputs;
  return std::find(outputs.begin(), outputs.end(), id) != outputs.end();
}

}  // namespace kw::teacher
