// Small tasks for the tests of this folder.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "program/task_json.h"
#include "search/optimize.h"

namespace kw {

// Builds a forward program of fp32 tensors; state first, then arguments, then steps.
class TestProgram {
 public:
  ValueId state(const std::string& name, std::vector<int64_t> shape) {
    task_.state.push_back({{name}, "parameter"});
    task_.init.outputs.push_back(made_in(task_.init, shape));
    return input(std::move(shape));
  }
  ValueId argument(const std::string& name, std::vector<int64_t> shape) {
    task_.arguments.push_back({{"in", task_.inputs.outputs.size()}});
    task_.source.parameters.push_back(name);
    task_.inputs.outputs.push_back(made_in(task_.inputs, shape));
    return input(std::move(shape));
  }
  static std::map<std::string, Arg> tensors(const std::map<std::string, ValueId>& named) {
    std::map<std::string, Arg> out;
    for (const auto& [name, id] : named) out[name].v = ValueRef{id};
    return out;
  }
  static Arg integers(const std::vector<int64_t>& items) {
    Arg out;
    ArgList list(items.size());
    for (size_t i = 0; i < items.size(); ++i) list[i].v = items[i];
    out.v = std::move(list);
    return out;
  }
  // `alias`: the value whose storage the result shares (views, operators in place), or -1.
  ValueId call(const std::string& op, std::map<std::string, Arg> args, std::vector<int64_t> shape,
               ValueId alias = -1, bool in_place = false) {
    const ValueId result = value(task_.forward, std::move(shape));
    if (alias >= 0) {
      task_.forward.values[result].storage = task_.forward.values[alias].storage;
    }
    AtenCall step;
    step.op = op;
    step.args = std::move(args);
    step.results = {result};
    if (in_place) step.mutated = {alias};
    task_.forward.steps.emplace_back(std::move(step));
    return result;
  }
  ValueId add(ValueId a, ValueId b) {
    const std::vector<int64_t> shape = task_.forward.values[a].shape;
    return call("aten.add.Tensor", tensors({{"self", a}, {"other", b}}), shape);
  }

  Task finish(const std::vector<ValueId>& outputs) {
    task_.source.file = "model.py";
    task_.source.cls = "Model";
    task_.forward.outputs = outputs;
    Json leaves = Json::array();
    for (size_t k = 0; k < outputs.size(); ++k) leaves.push_back({{"out", k}});
    task_.result = {{"tuple", leaves}};
    return task_;
  }

 private:
  static ValueId value(Program& program, std::vector<int64_t> shape) {
    Value v;
    v.shape = std::move(shape);
    v.strides.assign(v.shape.size(), 1);
    for (size_t i = v.shape.size(); i-- > 1;) v.strides[i - 1] = v.strides[i] * v.shape[i];
    v.storage = static_cast<int>(program.values.size());
    program.values.push_back(v);
    return static_cast<ValueId>(program.values.size()) - 1;
  }
  ValueId input(std::vector<int64_t> shape) {
    task_.forward.inputs.push_back(value(task_.forward, std::move(shape)));
    return task_.forward.inputs.back();
  }
  static ValueId made_in(Program& program, const std::vector<int64_t>& shape) {
    const ValueId id = value(program, shape);
    AtenCall step;
    step.op = "aten.randn.default";
    step.args["size"] = integers(shape);
    step.results = {id};
    program.steps.emplace_back(std::move(step));
    return id;
  }

  Task task_;
};

// A random program of `steps` additions over values made before, with every loose end returned.
inline Task random_task(std::mt19937& rng, int steps) {
  TestProgram p;
  std::vector<ValueId> pool;
  for (int i = 0; i < 3; ++i) pool.push_back(p.argument("x" + std::to_string(i), {4, 8}));
  pool.push_back(p.state("weight", {4, 8}));
  // Mostly recent operands, as in real models; now and then a long skip.
  const auto pick = [&] {
    const size_t reach = rng() % 8 ? std::min<size_t>(pool.size(), 6) : pool.size();
    return pool[pool.size() - 1 - rng() % reach];
  };
  for (int i = 0; i < steps; ++i) {
    const ValueId a = pick(), b = pick();
    pool.push_back(p.add(a, b));
  }
  return p.finish({pool.back(), pool[pool.size() - 1 - rng() % std::min(steps, 3)]});
}

}  // namespace kw
