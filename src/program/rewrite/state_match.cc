#include "program/rewrite/state_match.h"

#include <algorithm>

#include "program/makers.h"
#include "program/rewrite/tables.h"

namespace kw {
namespace {

// How often a storage may be written before a tensor of the reference is looked for in it. An
// initialiser takes a few steps.
constexpr int kMostWrites = 64;

std::string name_of(const StateEntry& entry) {
  return entry.names.empty() ? "a tensor that no attribute holds" : entry.names.front();
}

// Whether forward or derive takes an entry, or it was read on the host.
std::vector<bool> used_state(const Task& task) {
  const std::vector<bool> in_forward = used_inputs(task.forward),
                          in_derive = used_inputs(task.derive);
  std::vector<bool> out;
  for (size_t e = 0; e < task.state.size(); ++e) {
    out.push_back(in_forward[e] || in_derive[e] || task.state[e].premise);
  }
  return out;
}

bool share_a_name(const StateEntry& a, const StateEntry& b) {
  return std::ranges::any_of(a.names, [&](const std::string& name) {
    return std::ranges::find(b.names, name) != b.names.end();
  });
}

}  // namespace

bool same_metadata(const Value& a, const Value& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.strides == b.strides && a.offset == b.offset;
}

StateMatch::StateMatch(const Task& reference, const Task& candidate)
    : reference_(reference),
      candidate_(candidate),
      their_steps_(reference.init, reference.kernels),
      our_steps_(candidate.init, candidate.kernels),
      entries_(candidate.state.size(), -1),
      used_(used_state(candidate)),
      used_by_them_(used_state(reference)) {}

bool StateMatch::find() {
  our_written_ = written_storages(candidate_.forward, candidate_.kernels);
  their_written_ = written_storages(reference_.forward, reference_.kernels);
  match_names();
  match_lineages();
  for (size_t e = 0; e < entries_.size(); ++e) {
    if (used_[e] && entries_[e] < 0 && !make_of_steps(e)) return false;
  }
  return find_premises();
}

void StateMatch::match_names() {
  std::map<std::string, int> by_name;
  for (size_t r = 0; r < reference_.state.size(); ++r) {
    for (const std::string& name : reference_.state[r].names) by_name.emplace(name, r);
  }
  for (size_t e = 0; e < entries_.size(); ++e) {
    const Value& mine = candidate_.init.values[our_value(e)];
    for (const std::string& name : candidate_.state[e].names) {
      const auto found = by_name.find(name);
      if (found == by_name.end()) continue;
      if (!same_metadata(mine, reference_.init.values[reference_.init.outputs[found->second]]))
        continue;
      match(e, found->second);
      break;
    }
  }
}

// Entries that are made as one of the reference's is, in the order in which they are drawn. Those
// that the candidate does not use count too, if both have equally many.
void StateMatch::match_lineages() {
  std::vector<std::pair<int, size_t>> order;  // first draw, entry
  for (size_t e = 0; e < entries_.size(); ++e) {
    if (entries_[e] < 0) order.emplace_back(our_steps_.first_draw(our_value(e)), e);
  }
  if (std::ranges::none_of(order, [&](const auto& item) { return used_[item.second]; })) return;
  std::ranges::sort(order);
  std::map<std::string, std::vector<std::pair<int, size_t>>> alike;
  for (const auto& item : order) {
    alike[our_steps_.lineage(our_value(item.second), our_steps_.end())].push_back(item);
  }
  for (const auto& [lineage, items] : alike) {
    const auto is_free = [&](int r) { return !taken_.contains(r); };
    const bool as_many =
        std::ranges::count_if(their_entries(lineage), is_free) == std::ssize(items);
    for (const auto& [draw, e] : items) {
      if (!used_[e] && !as_many) continue;
      const int theirs = take(lineage, e, draw < our_steps_.end(), as_many);
      if (theirs >= 0) match(e, theirs);
    }
  }
}

void StateMatch::match(size_t entry, int theirs) {
  entries_[entry] = theirs;
  taken_.insert(theirs);
  const ValueId value = our_value(entry);
  const int storage = our_storage(value);
  hold(storage, value, our_steps_.last_write(storage, our_steps_.end()), theirs);
}

void StateMatch::hold(int storage, ValueId value, int since, int theirs) {
  known_[storage].values.insert(value);
  known_[storage].since = std::max(known_[storage].since, since);
  held_[value] = theirs;
}

// Returns an entry of the reference of this lineage that nothing has been found to be yet, or -1:
// the first `in_order`, else the first that the reference uses. What is not drawn says little by
// how it was made: only another parameter or buffer can be meant.
int StateMatch::take(const std::string& lineage, size_t entry, bool drawn, bool in_order) {
  if (lineage.empty()) return -1;
  const StateEntry& mine = candidate_.state[entry];
  int first = -1;
  for (const int r : their_entries(lineage)) {
    const StateEntry& other = reference_.state[r];
    if (taken_.contains(r)) continue;
    if (!drawn && (mine.kind == "constant" || mine.kind != other.kind)) continue;
    const auto written = [&](const Task& task, size_t at, const std::set<int>& storages) {
      return storages.contains(task.forward.values[task.forward.inputs[at]].storage);
    };
    if (!drawn && written(candidate_, entry, our_written_) &&
        !written(reference_, r, their_written_)) {
      continue;
    }
    if (share_a_name(mine, other)) return r;
    const bool better = first < 0 || (!in_order && used_by_them_[r] && !used_by_them_[first]);
    if (better) first = r;
  }
  return first;
}

const std::vector<int>& StateMatch::their_entries(const std::string& lineage) {
  if (lineages_.empty()) {
    std::vector<std::pair<int, int>> order;  // first draw, entry
    for (size_t r = 0; r < reference_.state.size(); ++r) {
      order.emplace_back(their_steps_.first_draw(reference_.init.outputs[r]), r);
    }
    std::ranges::sort(order);
    for (const auto& [draw, r] : order) {
      lineages_[their_steps_.lineage(reference_.init.outputs[r], their_steps_.end())].push_back(r);
    }
  }
  return lineages_[lineage];
}

bool StateMatch::make_of_steps(size_t entry) {
  for (;;) {
    const auto steps = our_steps_.steps_of(our_value(entry), our_steps_.end(), known_);
    if (!steps) {
      fault_ = name_of(candidate_.state[entry]) +
               " is made of a weight that the constructor changes later: make it at the end";
      return false;
    }
    const auto draw =
        std::ranges::find_if(*steps, [&](int i) { return is_random(candidate_.init.steps[i]); });
    if (draw == steps->end()) {
      steps_.insert(steps->begin(), steps->end());
      return true;
    }
    if (hold_drawn(*draw, *steps, entry)) continue;
    fault_ = "the constructor draws " + name_of(candidate_.state[entry]) +
             " as the reference draws no weight: give it the name, shape and initialiser of one of "
             "the reference's";
    return false;
  }
}

// What the candidate was told on the host holds of the reference's state, if both make it alike.
bool StateMatch::find_premises() {
  for (size_t e = 0; e < entries_.size(); ++e) {
    if (!candidate_.state[e].premise) continue;
    std::set<int> storages{our_storage(our_value(e))};
    for (const int i : our_steps_.steps_of(our_value(e))) {
      storages.insert(our_steps_.written(i).begin(), our_steps_.written(i).end());
    }
    for (const auto& [value, theirs] : held_) {
      if (!storages.contains(our_storage(value))) continue;
      // A view is made after the last write.
      const int known = std::max(known_.at(our_storage(value)).since, our_steps_.maker(value));
      const std::string lineage = our_steps_.lineage(value, known + 1);
      const auto alike = their_entries(lineage);
      if (lineage.empty() || std::ranges::find(alike, theirs) == alike.end()) {
        fault_ =
            name_of(candidate_.state[e]) +
            " is read on the host, and the reference makes it by other steps: make it as it does";
        return false;
      }
      premises_.insert(theirs);
    }
  }
  return true;
}

// Finds an entry of the reference in a storage that a random step of `steps` fills.
bool StateMatch::hold_drawn(int draw, const std::vector<int>& steps, size_t entry) {
  for (const int storage : our_steps_.written(draw)) {
    if (known_.contains(storage)) continue;
    int writes = 0;
    for (auto i = steps.rbegin(); i != steps.rend() && *i >= draw; ++i) {
      if (!our_steps_.writes(*i, storage)) continue;
      if (++writes > kMostWrites) return false;
      for (const ValueId value : values_in(storage, *i)) {
        const int theirs = take(our_steps_.lineage(value, *i + 1), entry, true, false);
        if (theirs < 0) continue;
        taken_.insert(theirs);
        hold(storage, value, *i, theirs);
        return true;
      }
    }
  }
  return false;
}

// Values in a storage that steps up to `last` make and that look like a tensor of the reference:
// the latest of each look, the latest first.
std::vector<ValueId> StateMatch::values_in(int storage, int last) const {
  std::vector<ValueId> out;
  for (int i = last; i >= 0; --i) {
    for (ValueId id : step_defines(candidate_.init.steps[i])) {
      const auto looks_alike = [&](ValueId other) {
        return same_metadata(candidate_.init.values[other], candidate_.init.values[id]);
      };
      if (our_storage(id) != storage || !may_be_theirs(id)) continue;
      if (std::ranges::none_of(out, looks_alike)) out.push_back(id);
    }
  }
  return out;
}

bool StateMatch::may_be_theirs(ValueId value) const {
  for (size_t r = 0; r < reference_.state.size(); ++r) {
    const Value& theirs = reference_.init.values[reference_.init.outputs[r]];
    if (!taken_.contains(static_cast<int>(r)) &&
        same_metadata(candidate_.init.values[value], theirs)) {
      return true;
    }
  }
  return false;
}

std::vector<StateMatch::Found> StateMatch::found() const {
  std::vector<Found> out;
  for (const auto& [value, theirs] : held_) {
    const int storage = our_storage(value), since = known_.at(storage).since;
    const bool changed = std::ranges::any_of(
        steps_, [&](int i) { return i > since && our_steps_.writes(i, storage); });
    out.push_back({value, theirs, changed});
  }
  return out;
}

}  // namespace kw
