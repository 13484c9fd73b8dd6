#include "program/python/memory_guard.h"

#include <algorithm>
#include <map>
#include <set>

#include "program/makers.h"
#include "program/python/python_text.h"

namespace kw {

MemoryGuard::MemoryGuard(const Task& task) : task_(task) {
  find_ties();
  find_places();
}

void MemoryGuard::find_ties() {
  for (size_t i = 0; i < task_.state.size(); ++i) {
    const std::vector<std::string>& names = task_.state[i].names;
    for (size_t k = 1; k < names.size(); ++k) {
      const std::string name = "q" + std::to_string(ties_.size() + tables_.size());
      (task_.state[i].premise ? tables_ : ties_)
          .push_back({name, names[k], task_.forward.inputs[i]});
    }
  }
}

// Steps may run in another order than the original's, so what forward writes to must not overlap
// another tensor. Of tensors that show one storage, a candidate may read any in place of another.
void MemoryGuard::find_places() {
  const Program& forward = task_.forward;
  std::vector<ValueId> inputs = forward.inputs;
  inputs.erase(inputs.begin() + task_.state.size(),
               inputs.begin() + task_.state.size() + task_.derive.outputs.size());
  std::erase_if(inputs, [&](ValueId id) { return forward.values[id].numel() == 0; });
  const std::set<int> written = written_storages(forward, task_.kernels);
  std::map<int, int> count;  // inputs by storage
  for (ValueId id : inputs) ++count[forward.values[id].storage];
  std::map<int, int> numbers;
  for (const auto& [storage, n] : count) {
    if (task_.source.compares_addresses || written.contains(storage)) {
      numbers.emplace(storage, apart_++);
    }
  }
  for (ValueId id : inputs) {
    const Value& value = forward.values[id];
    if (apart_ == 0 && count[value.storage] == 1) continue;
    const int number =
        numbers.emplace(value.storage, static_cast<int>(numbers.size())).first->second;
    places_.push_back({id, number, value.offset * dtype_bytes(value.dtype)});
  }
  if (places_.size() < 2) places_.clear();
}

std::string MemoryGuard::attribute() const {
  if (places_.empty()) return "";
  std::string out;
  for (const Place& place : places_) {
    out += "(" + std::to_string(place.storage) + ", " + std::to_string(place.offset) + "), ";
  }
  return "    _kw_places = (" + out + ")\n";
}

std::string MemoryGuard::functions() const {
  std::string out;
  if (!ties_.empty()) {
    out += R"py(

def _kw_is_same(a, b):
    """True when two tensors show the same memory in the same way, as tied parameters do."""
    return a is b or (
        torch._C._is_alias_of(a, b)
        and a.dtype == b.dtype
        and a.storage_offset() == b.storage_offset()
        and a.shape == b.shape
        and a.stride() == b.stride()
    )
)py";
  }
  if (!places_.empty()) {
    // Only addresses tell tensors apart that PyTorch does not know to share memory.
    const std::string storage = task_.source.compares_addresses ? "data_ptr()" : "_cdata";
    out += R"py(

def _kw_lie_as(tensors, places, apart):
    """True when tensors lie in memory as recorded. A place is a storage and an offset in bytes. The
    first `apart` storages must be no other's."""
    found = {}
    for tensor, (storage, offset) in zip(tensors, places):
        start = tensor.storage_offset() * tensor.element_size() - offset
        there = (tensor.untyped_storage().)py" +
           storage + R"py(, start)
        if found.setdefault(storage, there) != there:
            return False
    storages = [found[storage][0] for storage in sorted(found)]
    alone = set(storages[:apart])
    return len(alone) == apart and alone.isdisjoint(storages[apart:])
)py";
  }
  return out;
}

std::string MemoryGuard::ties(const std::string& indent) const {
  std::string out;
  for (const Tie& tie : all_ties()) {
    out += indent + tie.name + " = " + attribute_path(tie.qualified) + "\n";
  }
  return out;
}

std::vector<MemoryGuard::Tie> MemoryGuard::all_ties() const {
  std::vector<Tie> out = ties_;
  out.insert(out.end(), tables_.begin(), tables_.end());
  return out;
}

bool MemoryGuard::asks_arguments() const {
  const std::vector<ValueId>& inputs = task_.forward.inputs;
  const auto arguments = inputs.begin() + task_.state.size() + task_.derive.outputs.size();
  return std::ranges::any_of(places_, [&](const Place& place) {
    return std::find(arguments, inputs.end(), place.value) != inputs.end();
  });
}

std::string MemoryGuard::names_differ(const StepWriter& writer) const {
  std::string out;
  for (const Tie& tie : ties_) {
    out += out.empty() ? "" : " or ";
    out += "not _kw_is_same(" + tie.name + ", " + writer.name(tie.value) + ")";
  }
  return out;
}

std::string MemoryGuard::places_differ(const StepWriter& writer) const {
  if (places_.empty()) return "";
  std::string out;
  for (const Place& place : places_) out += writer.name(place.value) + ", ";
  return "not _kw_lie_as((" + out + "), self._kw_places, " + std::to_string(apart_) + ")";
}

}  // namespace kw
