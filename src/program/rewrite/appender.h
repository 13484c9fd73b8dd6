// Copies steps from one Program into another under a map of values.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "program/program.h"

namespace kw {

// Appends steps of `from` to `to` under a map of values, creating values and storages as needed.
// `ids` maps from's values to to's (-1: not there yet).
class Appender {
 public:
  Appender(const Program& from, Program& to, int& next_storage)
      : from_(from), to_(to), next_storage_(next_storage), ids_(from.values.size(), -1) {}

  // `from`'s value is `to`'s: their storages become the same.
  void bind(ValueId from_id, ValueId to_id) {
    ids_[from_id] = to_id;
    storages_[from_.values[from_id].storage] = to_.values[to_id].storage;
  }
  ValueId make(ValueId from_id) {
    if (ids_[from_id] >= 0) return ids_[from_id];
    Value value = from_.values[from_id];
    auto [it, fresh] = storages_.try_emplace(value.storage, next_storage_);
    if (fresh) ++next_storage_;
    value.storage = it->second;
    to_.values.push_back(value);
    return ids_[from_id] = static_cast<int>(to_.values.size()) - 1;
  }
  ValueId at(ValueId from_id) const { return ids_[from_id]; }
  void step(Step step) {
    for_each_value(step, [&](ValueId& id) { id = make(id); });
    if (auto* call = std::get_if<AtenCall>(&step)) {
      for (ValueId& id : call->mutated) id = make(id);
      for (ValueId& id : call->results) {
        if (id >= 0) id = make(id);
      }
    }
    to_.steps.push_back(std::move(step));
  }

 private:
  const Program& from_;
  Program& to_;
  int& next_storage_;
  std::vector<ValueId> ids_;
  std::map<int, int> storages_;
};

}  // namespace kw
