#include "program/rewrite/adopt.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "program/makers.h"
#include "program/rewrite/appender.h"
#include "program/rewrite/state_match.h"
#include "program/rewrite/step_history.h"
#include "program/rewrite/tables.h"
#include "program/rewrite/transform.h"
#include "program/task_json.h"

namespace kw {
namespace {

bool is_dense(const Value& value) {
  std::vector<std::pair<int64_t, int64_t>> dims;
  for (size_t d = 0; d < value.shape.size(); ++d) {
    if (value.shape[d] != 1) dims.emplace_back(value.strides[d], value.shape[d]);
  }
  std::ranges::sort(dims);
  int64_t step = 1;
  for (const auto& [stride, size] : dims) {
    if (stride != step) return false;
    step *= size;
  }
  return true;
}

// Puts the adopted Task together.
class Adopter {
 public:
  Adopter(const Task& reference, const Task& candidate)
      : reference_(reference), candidate_(candidate), match_(reference, candidate) {}

  Adoption run() {
    out_.fault = inputs_fault();
    if (out_.fault.empty() && std::ranges::any_of(candidate_.derive.steps, [](const Step& step) {
          return is_random(step);
        })) {
      out_.fault =
          "a call uses a random tensor that an earlier one drew: draw it anew in each call";
    }
    if (!out_.fault.empty() || !find_state()) return std::move(out_);
    task_ = reference_;
    mark_premises(task_);  // what the reference reads, the candidate may take for granted
    task_.target = candidate_.target;
    task_.source.device.insert(candidate_.source.device.begin(), candidate_.source.device.end());
    task_.source.aligned |= candidate_.source.aligned;
    task_.source.compares_addresses |= candidate_.source.compares_addresses;
    task_.kernels = candidate_.kernels;
    task_.derive = task_.forward = {};
    task_.result = candidate_.result;
    if (!write_derive() || !write_forward()) return std::move(out_);
    for (const int r : match_.premises()) task_.state[r].premise = true;
    task_ = canonical(task_);
    mark_premises(task_);
    check_task(task_);
    out_.task = std::move(task_);
    return std::move(out_);
  }

 private:
  // A tensor that forward gets from derive.
  struct Derived {
    ValueId value;  // of the new derive
    ValueId input;  // of the candidate's forward
  };

  size_t states() const { return candidate_.state.size(); }
  ValueId our_input(size_t k) const {
    return candidate_.forward.inputs[states() + candidate_.derive.outputs.size() + k];
  }
  ValueId their_input(size_t k) const {
    return reference_.forward
        .inputs[reference_.state.size() + reference_.derive.outputs.size() + k];
  }

  bool find_state() {
    if (match_.find()) return true;
    out_.fault = match_.fault();
    return false;
  }

  std::string inputs_fault() const {
    const size_t count = reference_.inputs.outputs.size();
    if (candidate_.inputs.outputs.size() != count ||
        candidate_.arguments.dump() != reference_.arguments.dump()) {
      return "forward takes other arguments than the reference's";
    }
    for (size_t k = 0; k < count; ++k) {
      if (!same_metadata(candidate_.forward.values[our_input(k)],
                         reference_.forward.values[their_input(k)])) {
        return "argument " + std::to_string(k) +
               " of forward has another shape, dtype or layout than the reference's";
      }
    }
    return "";
  }

  // Binds an input of one of the candidate's programs. Two that share memory must do so in the
  // reference too.
  bool bind(Appender& appender, const Program& from, ValueId id, const Program& to, ValueId target,
            std::map<int, int>& storages) {
    const int storage = from.values[id].storage, wanted = to.values[target].storage;
    if (storages.try_emplace(storage, wanted).first->second != wanted) {
      out_.fault = "two of its tensors share memory, and the reference's do not";
      return false;
    }
    appender.bind(id, target);
    return true;
  }

  bool write_derive() {
    Program& derive = task_.derive;
    int next_storage = 0;
    Appender states(reference_.derive, derive, next_storage);
    for (ValueId id : reference_.derive.inputs) derive.inputs.push_back(states.make(id));
    Appender made(candidate_.init, derive, next_storage);
    for (const StateMatch::Found& found : match_.found()) {
      ValueId value = derive.inputs[found.entry];
      if (found.changed && !clone(value, next_storage)) return false;
      made.bind(found.value, value);
    }
    for (int i : match_.steps()) made.step(candidate_.init.steps[i]);
    std::vector<ValueId> entries(this->states(), -1);  // values of the new derive
    for (size_t e = 0; e < entries.size(); ++e) {
      if (!match_.is_used(e)) continue;
      const int theirs = match_.entry(e);
      entries[e] = theirs < 0 ? made.make(candidate_.init.outputs[e]) : derive.inputs[theirs];
      if (theirs < 0) derived_.push_back({entries[e], candidate_.forward.inputs[e]});
    }
    Appender own(candidate_.derive, derive, next_storage);
    std::map<int, int> storages;
    for (size_t e = 0; e < entries.size(); ++e) {
      if (entries[e] < 0) continue;
      if (!bind(own, candidate_.derive, candidate_.derive.inputs[e], derive, entries[e],
                storages)) {
        return false;
      }
    }
    for (const Step& step : candidate_.derive.steps) own.step(step);
    for (size_t k = 0; k < candidate_.derive.outputs.size(); ++k) {
      derived_.push_back(
          {own.make(candidate_.derive.outputs[k]), candidate_.forward.inputs[this->states() + k]});
    }
    return true;
  }

  // Replaces a value of derive by a copy of it, which steps may change.
  bool clone(ValueId& value, int& next_storage) {
    Program& derive = task_.derive;
    Value copy = derive.values[value];
    if (!is_dense(copy)) {
      out_.fault =
          "the constructor changes a weight in place that is not contiguous: change a copy of it";
      return false;
    }
    copy.storage = next_storage++;
    copy.offset = 0;
    derive.values.push_back(copy);
    const auto id = static_cast<ValueId>(derive.values.size()) - 1;
    derive.steps.push_back(AtenCall{"aten.clone.default", {{"self", {ValueRef{value}}}}, {id}, {}});
    value = id;
    return true;
  }

  bool write_forward() {
    Program& forward = task_.forward;
    int next_storage = 0;
    Appender inputs(reference_.forward, forward, next_storage);
    const size_t their_states = reference_.state.size();
    for (size_t r = 0; r < their_states; ++r) {
      forward.inputs.push_back(inputs.make(reference_.forward.inputs[r]));
    }
    Appender from_derive(task_.derive, forward, next_storage);
    for (size_t r = 0; r < their_states; ++r) {
      from_derive.bind(task_.derive.inputs[r], forward.inputs[r]);
    }
    std::vector<Derived> scratch = take_scratch();
    std::optional<std::set<int>> steps = scratch_steps(scratch);
    if (!steps) {  // it is made of what a derived tensor was before
      scratch.insert(scratch.end(), derived_.begin(), derived_.end());
      derived_.clear();
      steps = scratch_steps(scratch);
    }
    for (const Derived& each : derived_) {
      if (from_derive.at(each.value) >= 0) continue;  // a tensor of the state, or there already
      task_.derive.outputs.push_back(each.value);
      forward.inputs.push_back(from_derive.make(each.value));
    }
    for (size_t k = 0; k < reference_.inputs.outputs.size(); ++k) {
      forward.inputs.push_back(inputs.make(their_input(k)));
    }
    for (int i : *steps) from_derive.step(task_.derive.steps[i]);

    Appender body(candidate_.forward, forward, next_storage);
    std::map<int, int> storages;
    const auto put = [&](ValueId id, ValueId target) {
      return bind(body, candidate_.forward, id, forward, target, storages);
    };
    for (size_t e = 0; e < states(); ++e) {
      const int theirs = match_.entry(e);
      if (!match_.is_used(e) || theirs < 0) continue;
      if (!put(candidate_.forward.inputs[e], forward.inputs[theirs])) return false;
    }
    for (const std::vector<Derived>* some : {&std::as_const(derived_), &std::as_const(scratch)}) {
      for (const Derived& each : *some) {
        if (!put(each.input, from_derive.at(each.value))) return false;
      }
    }
    for (size_t k = 0; k < reference_.inputs.outputs.size(); ++k) {
      const size_t first = their_states + task_.derive.outputs.size();
      if (!put(our_input(k), forward.inputs[first + k])) return false;
    }
    for (const Step& step : candidate_.forward.steps) body.step(step);
    for (ValueId id : candidate_.forward.outputs) forward.outputs.push_back(body.make(id));
    return true;
  }

  // Takes out of `derived_` what is made in each call: what forward writes, and what depends on
  // state that forward writes. A launch that writes state leaves no trace by which a later call
  // could know that it has to derive again.
  std::vector<Derived> take_scratch() {
    const std::set<int> written = written_storages(candidate_.forward, candidate_.kernels);
    const Program& derive = task_.derive;
    std::set<int> of_state, changing, fresh;  // storages of derive
    for (ValueId id : derive.inputs) of_state.insert(derive.values[id].storage);
    for (size_t e = 0; e < states(); ++e) {
      const int theirs = match_.entry(e);
      if (theirs < 0 ||
          !written.contains(candidate_.forward.values[candidate_.forward.inputs[e]].storage)) {
        continue;
      }
      changing.insert(derive.values[derive.inputs[theirs]].storage);
    }
    const StepHistory history(derive, task_.kernels);
    for (const Derived& each : derived_) {
      const int storage = derive.values[each.value].storage;
      if (of_state.contains(storage)) continue;
      const bool is_written = written.contains(candidate_.forward.values[each.input].storage);
      if (is_written || uses(history.steps_of(each.value), changing)) fresh.insert(storage);
    }
    std::vector<Derived> scratch, kept;
    for (const Derived& each : derived_) {
      (fresh.contains(derive.values[each.value].storage) ? scratch : kept).push_back(each);
    }
    derived_ = std::move(kept);
    return scratch;
  }

  bool uses(const std::vector<int>& steps, const std::set<int>& storages) const {
    bool found = false;
    for (int i : steps) {
      Step step = task_.derive.steps[i];
      for_each_value(step, [&](ValueId& id) {
        found = found || storages.contains(task_.derive.values[id].storage);
      });
    }
    return found;
  }

  // Returns the steps of derive that make scratch, but for those that make what is derived and
  // kept. Returns nothing if they use a kept tensor as it was before it was finished.
  std::optional<std::set<int>> scratch_steps(const std::vector<Derived>& scratch) const {
    const StepHistory history(task_.derive, task_.kernels);
    KnownStorages kept;
    for (const Derived& each : derived_) {
      const int storage = task_.derive.values[each.value].storage;
      kept[storage].values.insert(each.value);
      kept[storage].since = history.last_write(storage, history.end());
    }
    std::set<int> out;
    for (const Derived& each : scratch) {
      const auto steps = history.steps_of(each.value, history.end(), kept);
      if (!steps) return std::nullopt;
      out.insert(steps->begin(), steps->end());
    }
    return out;
  }

  const Task &reference_, &candidate_;
  StateMatch match_;
  std::vector<Derived> derived_;
  Task task_;
  Adoption out_;
};

}  // namespace

Adoption adopt(const Task& reference, const Task& candidate) {
  return Adopter(reference, candidate).run();
}

}  // namespace kw
