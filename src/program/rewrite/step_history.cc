#include "program/rewrite/step_history.h"

#include <algorithm>

#include "program/makers.h"
#include "program/rewrite/appender.h"
#include "program/task_json.h"

namespace kw {

StepHistory::StepHistory(const Program& program, const std::vector<Kernel>& kernels)
    : program_(program), written_(program.steps.size()) {
  std::set<int> seen;
  for (ValueId id : program.inputs) seen.insert(program.values[id].storage);
  for (size_t i = 0; i < program.steps.size(); ++i) {
    for (ValueId id : step_defines(program.steps[i])) {
      const int storage = program.values[id].storage;
      if (seen.insert(storage).second) written_[i].insert(storage);
    }
    for (ValueId id : step_writes(program.steps[i], kernels)) {
      written_[i].insert(program.values[id].storage);
    }
  }
}

int StepHistory::last_write(int storage, int end) const {
  for (int i = end; i-- > 0;) {
    if (writes(i, storage)) return i;
  }
  return -1;
}

int StepHistory::maker(ValueId value) const {
  const auto makes = [&](const Step& step) {
    const std::vector<ValueId> made = step_defines(step);
    return std::ranges::find(made, value) != made.end();
  };
  const auto found = std::ranges::find_if(program_.steps, makes);
  return found == program_.steps.end() ? -1 : static_cast<int>(found - program_.steps.begin());
}

std::optional<std::vector<int>> StepHistory::steps_of(ValueId value, int end,
                                                      const KnownStorages& known) const {
  std::set<ValueId> values = {value};
  std::set<int> storages = {program_.values[value].storage};
  std::vector<int> out;
  for (int i = end; i-- > 0;) {
    const Step& step = program_.steps[i];
    // Whether `storage` is as a known value describes it already.
    const auto is_before = [&](int storage) {
      const auto found = known.find(storage);
      return found != known.end() && i <= found->second.since;
    };
    bool needed = std::ranges::any_of(written_[i], [&](int storage) {
      return storages.contains(storage) && !is_before(storage);
    });
    for (ValueId id : step_defines(step)) {
      if (!values.contains(id)) continue;
      const int storage = program_.values[id].storage;
      const auto found = known.find(storage);
      if (found != known.end() && found->second.values.contains(id)) continue;
      if (!writes(i, storage)) {
        needed = true;  // a view
      } else if (is_before(storage)) {
        return std::nullopt;
      }
    }
    if (!needed) continue;
    out.push_back(i);
    const bool is_view = written_[i].empty();
    Step copy = step;
    bool early = false;
    for_each_value(copy, [&](ValueId& id) {
      const int storage = program_.values[id].storage;
      early = early || (!is_view && is_before(storage));
      values.insert(id);
      storages.insert(storage);
    });
    if (early) return std::nullopt;
  }
  std::ranges::reverse(out);
  return out;
}

std::vector<int> StepHistory::steps_of(ValueId value, int end) const {
  return *steps_of(value, end, {});
}

std::vector<int> StepHistory::steps_of(ValueId value) const { return steps_of(value, end()); }

int StepHistory::first_draw(ValueId value) const {
  const std::vector<int> steps = steps_of(value);
  const auto found =
      std::ranges::find_if(steps, [&](int i) { return is_random(program_.steps[i]); });
  return found == steps.end() ? end() : *found;
}

std::string StepHistory::lineage(ValueId value, int end) const {
  Program made;
  int next_storage = 0;
  Appender appender(program_, made, next_storage);
  const std::vector<int> steps = steps_of(value, end);
  for (int step : steps) {
    if (std::holds_alternative<Launch>(program_.steps[step])) return "";
    appender.step(program_.steps[step]);
  }
  made.outputs = {appender.make(value)};
  return to_json(made).dump();
}

}  // namespace kw
