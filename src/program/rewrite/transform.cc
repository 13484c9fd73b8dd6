#include "program/rewrite/transform.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "formats/base/error.h"
#include "formats/base/sha256.h"
#include "program/makers.h"
#include "program/rewrite/appender.h"
#include "program/task_json.h"

namespace kw {
namespace {

void use_kernels(Program& program, const std::vector<Kernel>& from, std::vector<Kernel>& to) {
  for (Step& step : program.steps) {
    auto* launch = std::get_if<Launch>(&step);
    if (!launch) continue;
    const Kernel& kernel = from.at(launch->kernel);
    auto same = [&](const Kernel& other) {
      return other.name == kernel.name && other.params == kernel.params &&
             other.constexprs == kernel.constexprs && other.attrs == kernel.attrs &&
             other.options == kernel.options && other.source == kernel.source;
    };
    auto it = std::find_if(to.begin(), to.end(), same);
    launch->kernel = static_cast<int>(it - to.begin());
    if (it == to.end()) to.push_back(kernel);
  }
}

Json erase_sizes(const Json& json) {
  if (json.is_number_integer()) return 0;
  if (json.is_array() && !json.empty() &&
      std::all_of(json.begin(), json.end(), [](const Json& x) { return x.is_number_integer(); })) {
    return Json::array();
  }
  return json;
}

// Puts derived tensors in the order in which forward first uses them, and drops unused ones. Their
// order means nothing, and replacing steps by fragments changes it.
void order_derived(Task& task) {
  Program& forward = task.forward;
  const size_t states = task.state.size(), count = task.derive.outputs.size();
  if (count == 0 || forward.inputs.size() < states + count) return;
  const std::vector<bool> live = live_steps(forward, task.kernels);
  std::vector<ValueId> used;
  for (size_t i = 0; i < forward.steps.size(); ++i) {
    if (!live[i]) continue;
    for_each_value(forward.steps[i], [&](ValueId& id) { used.push_back(id); });
  }
  used.insert(used.end(), forward.outputs.begin(), forward.outputs.end());
  std::vector<std::pair<size_t, size_t>> order;  // first use, place in derive.outputs
  for (size_t i = 0; i < count; ++i) {
    const auto use = std::find(used.begin(), used.end(), forward.inputs[states + i]);
    if (use != used.end()) order.emplace_back(use - used.begin(), i);
  }
  std::sort(order.begin(), order.end());
  std::vector<ValueId> outputs, inputs(forward.inputs.begin(), forward.inputs.begin() + states);
  for (const auto& [use, i] : order) {
    outputs.push_back(task.derive.outputs[i]);
    inputs.push_back(forward.inputs[states + i]);
  }
  inputs.insert(inputs.end(), forward.inputs.begin() + states + count, forward.inputs.end());
  task.derive.outputs = std::move(outputs);
  forward.inputs = std::move(inputs);
}

// The document that is hashed: no names of files, no machine code.
Json hashed_document(const Task& task) {
  Json json = to_json(canonical(task));
  json.erase("source");
  for (Json& kernel : json["kernels"]) kernel.erase("compiled");
  return json;
}

}  // namespace

std::vector<bool> live_steps(const Program& program, const std::vector<Kernel>& kernels) {
  std::vector<bool> live(program.steps.size(), false);
  std::set<ValueId> values(program.outputs.begin(), program.outputs.end());
  std::set<int> storages;
  for (ValueId id : program.outputs) storages.insert(program.values[id].storage);
  // What a call leaves behind in its inputs (running statistics) is an effect too.
  for (ValueId id : program.inputs) storages.insert(program.values[id].storage);
  for (size_t i = program.steps.size(); i-- > 0;) {
    const Step& step = program.steps[i];
    const auto defined = step_defines(step);
    const auto written = step_writes(step, kernels);
    live[i] = is_random(step) ||
              std::any_of(defined.begin(), defined.end(),
                          [&](ValueId id) { return values.count(id) > 0; }) ||
              std::any_of(written.begin(), written.end(), [&](ValueId id) {
                return storages.count(program.values[id].storage) > 0;
              });
    if (!live[i]) continue;
    Step copy = step;
    for_each_value(copy, [&](ValueId& id) { values.insert(id); });
    // A result that aliases an argument makes the argument's storage matter; so does reading it.
    for (ValueId id : step_reads(step, kernels)) storages.insert(program.values[id].storage);
  }
  return live;
}

Lineage lineage_of(const Program& program, const std::vector<Kernel>& kernels,
                   const std::vector<ValueId>& values) {
  int storages = 0;
  for (const Value& value : program.values) storages = std::max(storages, value.storage + 1);
  Lineage out{std::vector<bool>(program.steps.size()), std::vector<bool>(storages), 0};
  const auto storage = [&](ValueId id) { return program.values[id].storage; };
  for (ValueId id : values) out.storages[storage(id)] = true;
  for (size_t i = program.steps.size(); i-- > 0;) {
    const Step& step = program.steps[i];
    std::vector<ValueId> touched = step_defines(step);
    for (ValueId id : step_writes(step, kernels)) touched.push_back(id);
    out.steps[i] = std::any_of(touched.begin(), touched.end(),
                               [&](ValueId id) { return out.storages[storage(id)]; });
    if (!out.steps[i]) continue;
    touched = step_defines(step);
    Step copy = step;
    for_each_value(copy, [&](ValueId& id) { touched.push_back(id); });
    for (ValueId id : touched) {
      out.storages[storage(id)] = true;
      out.bytes += static_cast<double>(program.values[id].bytes());
    }
  }
  return out;
}

Program canonical(const Program& program, const std::vector<Kernel>& kernels) {
  const std::vector<bool> live = live_steps(program, kernels);
  Program out;
  int next_storage = 0;
  Appender appender(program, out, next_storage);
  for (ValueId id : program.inputs) out.inputs.push_back(appender.make(id));
  std::map<ValueId, size_t> constants;  // those that no step has used yet
  const auto use = [&](ValueId id) {
    const auto constant = constants.find(id);
    if (constant == constants.end()) return;
    appender.step(program.steps[constant->second]);
    constants.erase(constant);
  };
  for (size_t i = 0; i < program.steps.size(); ++i) {
    if (!live[i]) continue;
    if (is_constant(program.steps[i])) {
      constants[step_defines(program.steps[i]).at(0)] = i;
      continue;
    }
    Step step = program.steps[i];
    for_each_value(step, [&](ValueId& id) { use(id); });
    appender.step(std::move(step));
  }
  for (ValueId id : program.outputs) {
    use(id);
    out.outputs.push_back(appender.make(id));
  }
  return out;
}

Task canonical(const Task& task) {
  Task ordered = task, out = task;
  order_derived(ordered);
  out.kernels.clear();
  for (auto member : {&Task::init, &Task::derive, &Task::inputs, &Task::forward}) {
    out.*member = canonical(ordered.*member, task.kernels);
    use_kernels(out.*member, task.kernels, out.kernels);
  }
  return out;
}

std::string canonical_hash(const Task& task) { return sha256_hex(hashed_document(task).dump()); }

std::string difference(const Task& one, const Task& other) {
  const Json a = hashed_document(one), b = hashed_document(other);
  return a == b ? "" : Json::diff(a, b).front().at("path").get<std::string>();
}

std::string structure_hash(const Task& task) {
  Json json = hashed_document(task);
  for (const char* program : {"init", "derive", "inputs", "forward"}) {
    for (Json& value : json[program]["values"]) {
      value["shape"] = value["shape"].size();  // the rank stays
      value.erase("strides");
      value.erase("offset");
    }
    for (Json& step : json[program]["steps"]) {
      if (step.contains("launch")) {
        step.erase("grid");
        for (Json& arg : step["args"]) arg = erase_sizes(arg);
      } else {
        for (auto& [name, arg] : step["args"].items()) {
          if (arg.is_array()) arg = erase_sizes(arg);
        }
      }
    }
  }
  return sha256_hex(json.dump());
}

std::vector<std::vector<int>> step_dependencies(const Program& program,
                                                const std::vector<Kernel>& kernels) {
  const int count = static_cast<int>(program.steps.size());
  std::vector<std::vector<int>> out(count);
  std::map<ValueId, int> maker;
  struct Access {
    std::vector<int> readers, writers;
  };
  std::map<int, Access> storages;
  int last_random = -1;
  for (int i = 0; i < count; ++i) {
    const Step& step = program.steps[i];
    std::set<int> before;
    Step copy = step;
    for_each_value(copy, [&](ValueId& id) {
      if (auto it = maker.find(id); it != maker.end()) before.insert(it->second);
    });
    for (ValueId id : step_reads(step, kernels)) {
      Access& access = storages[program.values[id].storage];
      before.insert(access.writers.begin(), access.writers.end());
      access.readers.push_back(i);
    }
    for (ValueId id : step_writes(step, kernels)) {
      Access& access = storages[program.values[id].storage];
      before.insert(access.readers.begin(), access.readers.end());
      before.insert(access.writers.begin(), access.writers.end());
      access.writers.push_back(i);
    }
    for (ValueId id : step_defines(step)) maker[id] = i;
    if (is_random(step)) {
      if (last_random >= 0) before.insert(last_random);
      last_random = i;
    }
    before.erase(i);
    out[i].assign(before.begin(), before.end());
  }
  return out;
}

bool is_convex(const std::vector<std::vector<int>>& dependencies, const std::vector<int>& steps) {
  if (steps.empty()) return false;
  const std::set<int> inside(steps.begin(), steps.end());
  // reaches[i]: some path from the set through an outside step arrives at i.
  std::vector<bool> outside_path(dependencies.size(), false);
  for (int i = steps.front(); i <= steps.back(); ++i) {
    for (int d : dependencies[i]) {
      if (!inside.count(i)) {
        if (inside.count(d) || outside_path[d]) outside_path[i] = true;
      } else if (outside_path[d]) {
        return false;
      }
    }
  }
  return true;
}

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

ValueId add_value(Program& program, Value value) {
  value.offset = 0;
  value.storage = 0;
  for (const Value& v : program.values) value.storage = std::max(value.storage, v.storage + 1);
  program.values.push_back(std::move(value));
  return static_cast<ValueId>(program.values.size()) - 1;
}

ValueId add_derived(Task& task, ValueId derive_value) {
  const size_t place = task.state.size() + task.derive.outputs.size();
  task.derive.outputs.push_back(derive_value);
  const ValueId input = add_value(task.forward, task.derive.values[derive_value]);
  task.forward.inputs.insert(task.forward.inputs.begin() + place, input);
  return input;
}

Fragment cut(const Task& task, const std::vector<int>& steps) {
  const Program& forward = task.forward;
  Fragment fragment;
  fragment.steps = steps;
  const std::set<int> inside(steps.begin(), steps.end());

  std::set<ValueId> made;
  for (int i : steps) {
    Step step = forward.steps.at(i);
    for_each_value(step, [&](ValueId& id) {
      auto& in = fragment.in_values;
      if (!made.count(id) && std::find(in.begin(), in.end(), id) == in.end()) in.push_back(id);
    });
    for (ValueId id : step_defines(step)) made.insert(id);
  }
  std::set<ValueId> used(forward.outputs.begin(), forward.outputs.end());
  for (size_t i = 0; i < forward.steps.size(); ++i) {
    if (inside.count(static_cast<int>(i))) continue;
    Step step = forward.steps[i];
    for_each_value(step, [&](ValueId& id) { used.insert(id); });
  }
  for (ValueId id : made) {
    if (used.count(id)) fragment.out_values.push_back(id);
  }
  if (fragment.out_values.empty()) throw InputError("fragment: nothing flows out of it");

  Task& out = fragment.task;
  out.target = task.target;
  out.source = {task.source.file, "fragment", {}, {}};
  out.kernels = task.kernels;

  int next_storage = 0;
  Appender body(forward, out.forward, next_storage);
  for (ValueId id : fragment.in_values) out.forward.inputs.push_back(body.make(id));
  for (int i : steps) body.step(forward.steps[i]);
  for (ValueId id : fragment.out_values) out.forward.outputs.push_back(body.at(id));

  // The forward steps that the values flowing in depend on. Convexity keeps the fragment out of it.
  const auto dependencies = step_dependencies(forward, task.kernels);
  std::set<int> feeding;
  for (int i = steps.back(); i >= 0; --i) {
    const auto defined = step_defines(forward.steps[i]);
    const bool direct = std::any_of(defined.begin(), defined.end(), [&](ValueId id) {
      const auto& in = fragment.in_values;
      return std::find(in.begin(), in.end(), id) != in.end();
    });
    if (direct && !inside.count(i)) feeding.insert(i);
    if (inside.count(i) || feeding.count(i)) {
      for (int d : dependencies[i]) {
        if (!inside.count(d)) feeding.insert(d);
      }
    }
  }

  // Everything that makes the values flowing in: the four programs one after another.
  Program feed;
  int feed_storage = 0;
  auto append = [&](const Program& program, const std::vector<ValueId>& inputs) {
    Appender appender(program, feed, feed_storage);
    for (size_t k = 0; k < program.inputs.size(); ++k) appender.bind(program.inputs[k], inputs[k]);
    for (int i = 0; i < static_cast<int>(program.steps.size()); ++i) {
      if (&program != &forward || feeding.count(i)) appender.step(program.steps[i]);
    }
    std::vector<ValueId> outputs;
    const auto& wanted = &program == &forward ? fragment.in_values : program.outputs;
    for (ValueId id : wanted) outputs.push_back(appender.at(id));
    return outputs;
  };
  const auto state = append(task.init, {});
  auto inputs = state;
  for (const Program* program : {&task.derive, &task.inputs}) {
    const auto more = append(*program, state);
    inputs.insert(inputs.end(), more.begin(), more.end());
  }
  feed.outputs = append(forward, inputs);
  out.inputs = canonical(feed, task.kernels);

  out.arguments = Json::array();
  for (size_t k = 0; k < fragment.in_values.size(); ++k) {
    out.arguments.push_back({{"in", k}});
    out.source.parameters.push_back("a" + std::to_string(k));
  }
  Json leaves = Json::array();
  for (size_t k = 0; k < fragment.out_values.size(); ++k) leaves.push_back({{"out", k}});
  out.result = leaves.size() == 1 ? leaves[0] : Json{{"tuple", leaves}};
  check_task(out);
  return fragment;
}

Fragment cut_whole(const Task& task) {
  std::vector<int> steps(task.forward.steps.size());
  std::iota(steps.begin(), steps.end(), 0);
  return cut(task, steps);
}

Task asked_program(const Task& recorded) { return cut_whole(canonical(recorded)).task; }

}  // namespace kw
