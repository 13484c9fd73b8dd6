// Structural soundness of Programs and Tasks (declared in task_json.h).
#include <algorithm>
#include <set>

#include "formats/base/error.h"
#include "program/makers.h"
#include "program/task_json.h"

namespace kw {
namespace {

[[noreturn]] void fail(const std::string& place, const std::string& message) {
  throw InputError(place + ": " + message);
}

void check_launch(const Launch& launch, const std::vector<Kernel>& kernels,
                  const std::string& place) {
  if (launch.kernel >= static_cast<int>(kernels.size())) fail(place, "no such kernel");
  const Kernel& kernel = kernels[launch.kernel];
  const size_t runtime_params =
      std::count_if(kernel.params.begin(), kernel.params.end(),
                    [](const KernelParam& p) { return !p.is_constexpr(); });
  if (runtime_params != launch.args.size()) {
    fail(place, "kernel " + kernel.name + " takes " + std::to_string(runtime_params) +
                    " arguments, the launch has " + std::to_string(launch.args.size()));
  }
  size_t next = 0;
  for (const KernelParam& param : kernel.params) {
    if (param.is_constexpr()) continue;
    const Arg& arg = launch.args[next++];
    const bool tensor = arg.is_value() || arg.is_none();
    const bool number = std::holds_alternative<int64_t>(arg.v) ||
                        std::holds_alternative<double>(arg.v) ||
                        std::holds_alternative<bool>(arg.v);
    if (param.is_pointer() ? !tensor : !number) {
      fail(place, "argument for " + param.name + " does not fit its type " + param.type);
    }
  }
}

// Names of an object and of its fields are written into Python: nothing but identifiers.
void check_object(const Json& body, const std::string& place) {
  const bool whole = body.is_object() && body.size() == 3 && body.contains("type") &&
                     body["type"].is_string() && body.contains("fields") &&
                     body["fields"].is_object() && body.contains("kind");
  if (!whole) fail(place, "an object has a type, a kind and fields");
  if (body["kind"] != "tuple" && body["kind"] != "dataclass") {
    fail(place, "an object is a tuple or a dataclass");
  }
  if (!is_identifier(body["type"].get<std::string>())) fail(place, "an object's type is no name");
  for (const auto& [field, item] : body["fields"].items()) {
    if (!is_identifier(field)) fail(place, "an object's field is no name");
  }
}

// Leaves {"in": k} or {"out": k} of a tree; counts them and checks their range.
void check_tree(const Json& tree, const std::string& leaf, size_t count, const std::string& place) {
  if (tree.is_array()) fail(place, "a bare array is not a tree");
  if (!tree.is_object()) return;
  if (tree.size() != 1) fail(place, "a tree node has one member");
  const std::string kind = tree.begin().key();
  const Json& body = tree.front();
  if (kind == leaf) {
    if (!body.is_number_integer() || body.get<int64_t>() < 0 ||
        body.get<int64_t>() >= static_cast<int64_t>(count)) {
      fail(place, "leaf is out of range");
    }
  } else if ((kind == "list" || kind == "tuple") && body.is_array()) {
    for (const Json& item : body) check_tree(item, leaf, count, place);
  } else if (kind == "dict" && body.is_array()) {
    std::set<std::string> keys;
    for (const Json& item : body) {
      const bool pair = item.is_array() && item.size() == 2 && item[0].is_string();
      if (!pair || !keys.insert(item[0].get<std::string>()).second) {
        fail(place, "a dict has pairs of a key of its own and a tree");
      }
      check_tree(item[1], leaf, count, place);
    }
  } else if (kind == "object" && leaf == "out") {
    check_object(body, place);
    for (const Json& item : body["fields"]) check_tree(item, leaf, count, place);
  } else if (kind == "torch" && leaf == "in") {
    if (!body.is_string() || !is_identifier(body.get<std::string>())) {
      fail(place, "a dtype, layout or memory format is no name");
    }
  } else if (kind != "f") {
    fail(place, "unknown tree node \"" + kind + "\"");
  }
}

// Outputs of `from` must have the metadata of inputs [first, first + n) of `to`.
void check_link(const Program& from, const Program& to, size_t first, const std::string& place) {
  if (to.inputs.size() < first + from.outputs.size()) fail(place, "too few inputs");
  for (size_t i = 0; i < from.outputs.size(); ++i) {
    const Value& a = from.values[from.outputs[i]];
    const Value& b = to.values[to.inputs[first + i]];
    if (a.dtype != b.dtype || a.shape != b.shape || a.strides != b.strides) {
      fail(place, "input " + std::to_string(first + i) + " differs from what fills it");
    }
  }
}

}  // namespace

namespace {

// A constant has as many numbers as its value has elements, and says its shape.
void check_constant(const AtenCall& call, const Program& program, const std::string& place) {
  if (call.op != kConstant) return;
  if (call.results.size() != 1 || call.results[0] < 0) fail(place, "a constant makes one value");
  const Value& value = program.values[call.results[0]];
  const Arg* data = call.find("data");
  const ArgList* numbers = data ? std::get_if<ArgList>(&data->v) : nullptr;
  if (!numbers || static_cast<int64_t>(numbers->size()) != value.numel()) {
    fail(place, "a constant of " + std::to_string(value.numel()) + " elements has other data");
  }
  for (const Arg& number : *numbers) {
    if (!std::holds_alternative<bool>(number.v) && !std::holds_alternative<int64_t>(number.v) &&
        !std::holds_alternative<double>(number.v)) {
      fail(place, "a constant's data are numbers");
    }
  }
  const Arg* shape = call.find("shape");
  if (!shape || !std::holds_alternative<ArgList>(shape->v)) fail(place, "a constant has a shape");
}

}  // namespace

bool is_identifier(std::string_view text) {
  const auto word = [](unsigned char c) { return c < 0x80 && (std::isalnum(c) || c == '_'); };
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::all_of(text.begin(), text.end(), word);
}

void check_program(const Program& program, const std::vector<Kernel>& kernels,
                   const std::string& path) {
  const int count = static_cast<int>(program.values.size());
  std::vector<bool> defined(count, false);
  auto define = [&](ValueId id, const std::string& place) {
    if (id < 0 || id >= count) fail(place, "no such value " + std::to_string(id));
    if (defined[id]) fail(place, "value " + std::to_string(id) + " is defined twice");
    defined[id] = true;
  };
  auto use = [&](ValueId id, const std::string& place) {
    if (id < 0 || id >= count) fail(place, "no such value " + std::to_string(id));
    if (!defined[id]) fail(place, "value " + std::to_string(id) + " is used before it is made");
  };
  for (ValueId id : program.inputs) define(id, path + ".inputs");
  for (size_t i = 0; i < program.steps.size(); ++i) {
    const std::string place = path + ".steps[" + std::to_string(i) + "]";
    Step step = program.steps[i];
    for_each_value(step, [&](ValueId& id) { use(id, place); });
    if (const auto* launch = std::get_if<Launch>(&step)) {
      check_launch(*launch, kernels, place);
    } else {
      for (ValueId id : std::get<AtenCall>(step).mutated) use(id, place);
    }
    for (ValueId id : step_defines(step)) define(id, place);
    if (const auto* call = std::get_if<AtenCall>(&step)) check_constant(*call, program, place);
  }
  for (ValueId id : program.outputs) use(id, path + ".outputs");
  if (std::find(defined.begin(), defined.end(), false) != defined.end()) {
    fail(path + ".values", "a value is never made");
  }
}

void check_task(const Task& task) {
  check_program(task.init, task.kernels, "init");
  check_program(task.derive, task.kernels, "derive");
  check_program(task.inputs, task.kernels, "inputs");
  check_program(task.forward, task.kernels, "forward");
  const size_t state = task.state.size();
  if (!task.init.inputs.empty()) fail("init.inputs", "expected none");
  if (task.init.outputs.size() != state) fail("init.outputs", "expected one for each state entry");
  if (task.derive.inputs.size() != state) fail("derive.inputs", "expected the state");
  if (task.inputs.inputs.size() != state) fail("inputs.inputs", "expected the state");
  const size_t derived = task.derive.outputs.size();
  if (task.forward.inputs.size() != state + derived + task.inputs.outputs.size()) {
    fail("forward.inputs", "expected state, derived tensors and inputs");
  }
  check_link(task.init, task.derive, 0, "derive");
  check_link(task.init, task.inputs, 0, "inputs");
  check_link(task.init, task.forward, 0, "forward");
  check_link(task.derive, task.forward, state, "forward");
  check_link(task.inputs, task.forward, state + derived, "forward");
  for (const Json& tree : task.arguments) {
    check_tree(tree, "in", task.inputs.outputs.size(), "arguments");
  }
  check_tree(task.result, "out", task.forward.outputs.size(), "result");
}

}  // namespace kw
