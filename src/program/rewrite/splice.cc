// splice() of transform.h: replaces fragments of a task by what was written for them.
#include <algorithm>
#include <set>

#include "formats/base/error.h"
#include "program/rewrite/transform.h"
#include "program/task_json.h"

namespace kw {
namespace {

// Groups of steps (a fragment, or one kept step) in an order that respects every dependency.
std::vector<std::vector<int>> order_groups(const std::vector<std::vector<int>>& dependencies,
                                           const std::vector<Replacement>& replacements,
                                           std::vector<int>& group_of) {
  const int count = static_cast<int>(dependencies.size());
  group_of.assign(count, -1);
  std::vector<std::vector<int>> groups;
  for (const Replacement& r : replacements) {
    for (int i : r.fragment.steps) {
      if (i < 0 || i >= count || group_of[i] >= 0) throw InputError("splice: fragments overlap");
      group_of[i] = static_cast<int>(groups.size());
    }
    groups.push_back(r.fragment.steps);
  }
  for (int i = 0; i < count; ++i) {
    if (group_of[i] >= 0) continue;
    group_of[i] = static_cast<int>(groups.size());
    groups.push_back({i});
  }
  std::vector<std::set<int>> waits(groups.size());
  for (int i = 0; i < count; ++i) {
    for (int d : dependencies[i]) {
      if (group_of[d] != group_of[i]) waits[group_of[i]].insert(group_of[d]);
    }
  }
  std::vector<std::vector<int>> ordered;
  std::set<int> done;
  while (ordered.size() < groups.size()) {
    int best = -1;  // of the ready groups, the one that starts first in the original
    for (int g = 0; g < static_cast<int>(groups.size()); ++g) {
      if (done.count(g)) continue;
      const bool ready =
          std::all_of(waits[g].begin(), waits[g].end(), [&](int w) { return done.count(w) > 0; });
      if (ready && (best < 0 || groups[g].front() < groups[best].front())) best = g;
    }
    if (best < 0) throw InputError("splice: fragments depend on each other");
    done.insert(best);
    ordered.push_back(groups[best]);
  }
  return ordered;
}

// Builds the new forward program value by value; `names` maps original values to new ones.
class Builder {
 public:
  explicit Builder(const Program& original) : original_(original) {
    names_.assign(original.values.size(), -1);
    std::map<int, int> storages;
    for (ValueId id : original.inputs) {
      Value value = original.values[id];
      value.storage =
          storages.try_emplace(value.storage, static_cast<int>(storages.size())).first->second;
      names_[id] = add(value);
      out_.inputs.push_back(names_[id]);
    }
    next_storage_ = static_cast<int>(storages.size());
  }

  void keep(Step step) {
    // A result that aliased an argument aliases whatever stands for that argument now.
    std::map<int, int> storages;
    for_each_value(step, [&](ValueId& id) {
      const int old_storage = original_.values[id].storage;
      id = names_[id];
      storages[old_storage] = out_.values[id].storage;
    });
    if (auto* call = std::get_if<AtenCall>(&step)) {
      for (ValueId& id : call->mutated) id = names_[id];
      for (ValueId& id : call->results) {
        if (id >= 0) id = names_[id] = add_result(original_.values[id], storages);
      }
    }
    out_.steps.push_back(std::move(step));
  }

  void replace(const Replacement& r, const std::vector<int>& kernel_index) {
    const Program& body = r.task.forward;
    const Fragment& f = r.fragment;
    if (const std::string fault = replacement_fault(f, r.task); !fault.empty()) {
      throw InputError("splice: " + fault);
    }
    std::vector<ValueId> ids(body.values.size(), -1);
    std::map<int, int> storages;
    for (size_t k = 0; k < body.inputs.size(); ++k) {
      ids[body.inputs[k]] = names_[f.in_values[k]];
      storages[body.values[body.inputs[k]].storage] = out_.values[names_[f.in_values[k]]].storage;
    }
    for (Step step : body.steps) {
      for_each_value(step, [&](ValueId& id) { id = ids[id]; });
      if (auto* launch = std::get_if<Launch>(&step)) {
        launch->kernel = kernel_index[launch->kernel];
      } else {
        auto& call = std::get<AtenCall>(step);
        for (ValueId& id : call.mutated) id = ids[id];
        for (ValueId& id : call.results) {
          if (id >= 0) id = ids[id] = add_result(body.values[id], storages);
        }
      }
      out_.steps.push_back(std::move(step));
    }
    for (size_t k = 0; k < body.outputs.size(); ++k) {
      names_[f.out_values[k]] = ids[body.outputs[k]];
    }
  }

  Program finish() {
    for (ValueId id : original_.outputs) out_.outputs.push_back(names_[id]);
    return std::move(out_);
  }

 private:
  ValueId add(const Value& value) {
    out_.values.push_back(value);
    return static_cast<int>(out_.values.size()) - 1;
  }
  ValueId add_result(Value value, std::map<int, int>& storages) {
    auto [it, fresh] = storages.try_emplace(value.storage, next_storage_);
    if (fresh) ++next_storage_;
    value.storage = it->second;
    return add(value);
  }

  const Program& original_;
  Program out_;
  std::vector<ValueId> names_;
  int next_storage_ = 0;
};

}  // namespace

std::string replacement_fault(const Fragment& fragment, const Task& replacement) {
  const Program &steps = fragment.task.forward, &body = replacement.forward;
  if (body.inputs.size() != fragment.in_values.size() ||
      body.outputs.size() != fragment.out_values.size()) {
    return "the replacement takes or returns another number of values";
  }
  for (size_t k = 0; k < body.outputs.size(); ++k) {
    const Value& want = steps.values[steps.outputs[k]];
    const Value& have = body.values[body.outputs[k]];
    const std::string which = "result " + std::to_string(k) + " has ";
    const auto other = [&](const char* what, const Json& its, const Json& recorded) {
      return which + "another " + what + ": " + its.dump() + " where " + recorded.dump() +
             " is recorded";
    };
    if (want.dtype != have.dtype) {
      return other("dtype", dtype_name(have.dtype), dtype_name(want.dtype));
    }
    if (want.shape != have.shape) return other("shape", have.shape, want.shape);
    if (want.strides != have.strides)
      return other("layout, by strides", have.strides, want.strides);
    if (want.offset != have.offset) return other("offset", have.offset, want.offset);
  }
  return {};
}

Task splice(const Task& task, const std::vector<Replacement>& replacements) {
  std::vector<int> group_of;
  const auto order =
      order_groups(step_dependencies(task.forward, task.kernels), replacements, group_of);
  Task out = task;
  std::vector<std::vector<int>> kernel_index;
  for (const Replacement& r : replacements) {
    kernel_index.emplace_back();
    for (const Kernel& kernel : r.task.kernels) {
      kernel_index.back().push_back(static_cast<int>(out.kernels.size()));
      out.kernels.push_back(kernel);
    }
  }
  Builder builder(task.forward);
  for (const std::vector<int>& group : order) {
    const int g = group_of[group.front()];
    if (g < static_cast<int>(replacements.size())) {
      builder.replace(replacements[g], kernel_index[g]);
    } else {
      builder.keep(task.forward.steps[group.front()]);
    }
  }
  out.forward = builder.finish();
  out = canonical(out);
  check_task(out);
  return out;
}

}  // namespace kw
