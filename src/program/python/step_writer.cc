#include "program/python/step_writer.h"

#include <algorithm>
#include <variant>

#include "formats/base/error.h"
#include "ops/operator.h"
#include "program/checked/checked_names.h"
#include "program/makers.h"
#include "program/python/arg_text.h"
#include "program/python/python_call.h"
#include "program/python/python_text.h"

namespace kw {
namespace {

constexpr const char* kDescriptor = "_kw_descriptors.TensorDescriptor";

// Results in memory of their own, of steps that do more than make a tensor.
std::set<ValueId> computed(const Program& program) {
  std::set<int> known;
  for (ValueId id : program.inputs) known.insert(program.values[id].storage);
  std::set<ValueId> out;
  for (const Step& step : program.steps) {
    const auto* call = std::get_if<AtenCall>(&step);
    const OperatorRow* row = call ? find_operator(call->op) : nullptr;
    for (ValueId id : step_defines(step)) {
      const bool fresh = known.insert(program.values[id].storage).second;
      if (fresh && row && row->cls != OpClass::kFactory) out.insert(id);
    }
  }
  return out;
}

std::set<ValueId> read_by_strides(const Program& program) {
  const std::set<ValueId> own = computed(program);
  std::set<ValueId> out;
  for (Step step : program.steps) {
    std::set<int> aliased;  // storages of which the step returns a view
    for (ValueId id : step_defines(step)) aliased.insert(program.values[id].storage);
    const bool launch = std::holds_alternative<Launch>(step);
    for_each_value(step, [&](ValueId& id) {
      if (!own.contains(id)) return;
      if (launch || aliased.contains(program.values[id].storage)) out.insert(id);
    });
  }
  return out;
}

}  // namespace

StepWriter::StepWriter(const Task& task, const Program& program, int first_value,
                       std::string device)
    : task_(task),
      program_(program),
      laid_out_(read_by_strides(program)),
      names_(program.values.size()),
      next_(first_value),
      device_(std::move(device)) {}

std::string StepWriter::result(const Json& tree) const {
  if (!tree.is_object()) return python_literal(tree);
  const std::string kind = tree.begin().key();
  const Json& body = tree.front();
  if (kind == "out") return names_[program_.outputs.at(body.get<size_t>())];
  if (kind == "f") return special_float(tree);
  std::string inside;
  if (kind == "dict") {
    for (const Json& item : body) inside += python_literal(item[0]) + ": " + result(item[1]) + ", ";
    return "{" + inside + "}";
  }
  if (kind == "object") {
    for (const auto& [field, item] : body.at("fields").items()) {
      inside += checked_keyword(field) + "=" + result(item) + ", ";
    }
    return checked_class(body.at("type").get<std::string>()) + "(" + inside + ")";
  }
  for (const Json& item : body) inside += result(item) + ", ";
  return kind == "list" ? "[" + inside + "]" : "(" + inside + ")";
}

std::string StepWriter::steps(const std::string& indent) {
  std::string out;
  for (const Step& step : program_.steps) {
    out += indent + statement(step) + "\n";
    for (ValueId id : step_defines(step)) {
      if (!laid_out_.contains(id)) continue;
      out += indent + names_[id] + " = _kw_laid_out(" + names_[id] + ", " +
             python_tuple(program_.values[id].strides) + ")\n";
    }
  }
  return out;
}

std::string StepWriter::helper() const {
  if (laid_out_.empty()) return "";
  return R"py(

def _kw_laid_out(tensor, strides):
    """What PyTorch computed, with the strides that the steps behind it were written for: which
    backend it chose, and so the layout of its result, depends on settings."""
    if tensor.stride() == strides:
        return tensor
    if all(n == 1 or a == b for n, a, b in zip(tensor.shape, tensor.stride(), strides)):
        return tensor
    return torch.empty_strided(
        tensor.shape, strides, dtype=tensor.dtype, device=tensor.device
    ).copy_(tensor)
)py";
}

std::string StepWriter::arg_text(const Arg& arg) const {
  return kw::arg_text(arg, {.value = [this](ValueId id) { return names_[id]; },
                            .number = python_float,
                            .text = python_string,
                            .torch = "torch.",
                            .device = device_});
}

std::string StepWriter::statement(const Step& step) {
  if (const auto* launch = std::get_if<Launch>(&step)) return launch_text(*launch);
  const auto& call = std::get<AtenCall>(step);
  std::string targets;
  for (ValueId id : call.results) {
    if (id >= 0 && names_[id].empty()) names_[id] = "t" + std::to_string(next_++);
    targets += (targets.empty() ? "" : ", ") + (id < 0 ? std::string("_") : names_[id]);
  }
  if (returns_list(call)) targets = "(" + targets + ",)";
  return (targets.empty() ? "" : targets + " = ") + call_text(call);
}

bool StepWriter::returns_list(const AtenCall& call) const {
  const OperatorRow* row = find_operator(call.op);
  if (!row) return false;
  const std::vector<std::string>& results = operator_schema(*row).results;
  return results.size() == 1 && results[0].ends_with("[]");
}

namespace {

struct Spelled {
  std::vector<SchemaArg> slots;
  const Arg* self;  // the first argument; null where it is left out
  PythonCall call;
};
Spelled spelled_call(const AtenCall& call) {
  const OperatorRow* row = find_operator(call.op);
  if (!row) {  // opaque: arguments by name, as nothing here knows their order
    if (!is_opaque_operator(call.op)) throw InputError("export: no operator " + call.op);
    Spelled out{{}, nullptr, {.callee = "torch.ops." + call.op}};
    for (const auto& [name, arg] : call.args) {
      out.slots.push_back({.name = checked_keyword(name), .kwarg_only = true});
    }
    return out;
  }
  const std::vector<SchemaArg>& slots = operator_schema(*row).args;
  const Arg* self = slots.empty() ? nullptr : call.find(slots[0].name);
  return {slots, self, python_call(call.op, self && self->is_value())};
}

}  // namespace

std::set<std::string> calls_of(const Program& program) {
  std::set<std::string> out;
  for (const Step& step : program.steps) {
    const auto* call = std::get_if<AtenCall>(&step);
    if (!call) continue;
    if (call->op == kConstant) {
      out.insert({"torch.tensor", "torch.empty"});
      continue;
    }
    const PythonCall spelled = spelled_call(*call).call;
    out.insert((spelled.method ? "." : "") + spelled.callee);
  }
  return out;
}

std::string StepWriter::call_text(const AtenCall& call) const {
  if (call.op == kConstant) return constant_text(call);
  const auto [slots, self, spelled] = spelled_call(call);
  std::string out = (spelled.method ? arg_text(*self) + "." : "") + spelled.callee + "(";
  bool positional = true, first = true;
  for (const SchemaArg& slot : slots) {
    const Arg* arg = call.find(slot.name);
    if (spelled.method && arg == self) continue;
    positional = positional && arg && !slot.kwarg_only;
    if (!arg) continue;
    if (!first) out += ", ";
    first = false;
    if (!positional) out += slot.name + "=";
    out += arg_text(*arg);
  }
  return out + ")";
}

std::string StepWriter::constant_text(const AtenCall& call) const {
  const Value& value = program_.values[call.results[0]];
  const auto& data = std::get<std::vector<Arg>>(call.find("data")->v);
  const std::string like = ", dtype=" + torch_dtype(value.dtype) + ", device=" + device_ + ")";
  if (data.empty()) return "torch.empty(" + arg_text(*call.find("shape")) + like;
  size_t next = 0;
  return "torch.tensor(" + nested(value.shape, 0, data, next) + like;
}

std::string StepWriter::nested(const std::vector<int64_t>& shape, size_t dim,
                               const std::vector<Arg>& data, size_t& next) const {
  if (dim == shape.size()) return arg_text(data[next++]);
  std::string out = "[";
  for (int64_t i = 0; i < shape[dim]; ++i) {
    out += (i ? ", " : "") + nested(shape, dim + 1, data, next);
  }
  return out + "]";
}

namespace {

std::string grid_text(const Launch& launch) {
  return python_tuple(std::vector<int64_t>(launch.grid.begin(), launch.grid.end()));
}

}  // namespace

std::vector<StepWriter::Parameter> StepWriter::parameters_of(const Launch& launch) const {
  const std::vector<KernelParam>& params = task_.kernels[launch.kernel].params;
  std::vector<Parameter> out;
  for (size_t i = 0, next = 0; i < params.size();) {
    const std::string name = params[i].name.substr(0, params[i].name.find('.'));
    if (params[i].name == name && params[i].is_descriptor()) {
      out.push_back(descriptor(launch, i, next));
      continue;
    }
    const bool constant = params[i].name == name && params[i].is_constexpr();
    out.push_back({name, parameter_text(launch, name, i, next), constant, "", ""});
  }
  return out;
}

std::string StepWriter::launch_text(const Launch& launch) {
  const Kernel& kernel = task_.kernels[launch.kernel];
  const std::vector<Parameter> parameters = parameters_of(launch);
  const auto last =
      std::ranges::find_if_not(parameters.rbegin(), parameters.rend(), &Parameter::constant).base();
  // What comes before the last argument is passed without its name, and an option has a name.
  const bool named = std::any_of(parameters.begin(), last, [&](const Parameter& parameter) {
    return kernel.options.contains(parameter.name);
  });
  std::string spelled = spelled_launch(launch, parameters);
  if (!launches_ || named) return spelled;
  const std::string number = std::to_string(launches_->size());
  std::string call = "_kw_launch_" + number + "(" + where_, constants, options, descriptors;
  for (auto it = parameters.begin(); it != last; ++it) {
    call += ", " + (it->layout.empty() ? it->text : it->base);
    if (it->layout.empty()) continue;
    descriptors += (descriptors.empty() ? "" : ", ") + std::to_string(it - parameters.begin()) +
                   ": (" + kDescriptor + ", " + it->layout + ")";
  }
  for (auto it = last; it != parameters.end(); ++it) {
    constants += (constants.empty() ? "" : ", ") + checked_keyword(it->name) + "=" + it->text;
  }
  for (const auto& [option, value] : kernel.options.items()) {
    options += (options.empty() ? "" : ", ") + checked_option(option, value);
  }
  launches_->push_back(kernel.name + ", " + grid_text(launch) + ", dict(" + constants + "), dict(" +
                       options + ")" + (descriptors.empty() ? "" : ", {" + descriptors + "}"));
  return call + ")";
}

std::string StepWriter::spelled_launch(const Launch& launch,
                                       const std::vector<Parameter>& parameters) const {
  const Kernel& kernel = task_.kernels[launch.kernel];
  std::string out = kernel.name + "[" + grid_text(launch) + "](";
  // After one keyword every later argument must be one too.
  bool keyword = false;
  std::string separator;
  std::map<std::string, std::string> written;  // what is passed by name, or "", for each parameter
  for (const auto& [name, text, constant, base, layout] : parameters) {
    keyword = keyword || constant;
    const std::string argument = (keyword ? checked_keyword(name) + "=" : "") + text;
    out += separator + argument;
    separator = ", ";
    written[name] = keyword ? argument : "";
  }
  for (const auto& [option, value] : kernel.options.items()) {
    // Triton takes a keyword for the parameter and the option of that name.
    const std::string text = checked_option(option, value);
    const auto same = written.find(option);
    if (same == written.end()) {
      out += ", " + text;
    } else if (same->second != text) {
      throw InputError("export: kernel " + kernel.name + " has a parameter " + option +
                       ", which is not its launch option of this name");
    }
  }
  return out + ")";
}

namespace {

const Arg& argument(const Launch& launch, size_t index) {
  if (index >= launch.args.size()) throw InputError("export: a launch has too few arguments");
  return launch.args[index];
}

}  // namespace

std::string StepWriter::parameter_text(const Launch& launch, const std::string& path, size_t& param,
                                       size_t& next) const {
  const Kernel& kernel = task_.kernels[launch.kernel];
  if (kernel.params[param].is_descriptor()) return descriptor(launch, param, next).text;
  if (kernel.params[param].name == path) {
    const size_t index = param++;
    return kernel.params[index].is_constexpr()
               ? python_literal(kernel.constexprs.value(std::to_string(index), Json()))
               : arg_text(argument(launch, next++));
  }
  std::string items;
  for (size_t k = 0;
       param < kernel.params.size() && kernel.params[param].name.starts_with(path + "."); ++k) {
    const std::string item = path + "." + std::to_string(k);
    const std::string& name = kernel.params[param].name;
    if (name != item && !name.starts_with(item + ".")) {
      throw InputError("export: parameters of kernel " + kernel.name + " are out of order");
    }
    items += parameter_text(launch, item, param, next) + ", ";
  }
  return "(" + items + ")";
}

StepWriter::Parameter StepWriter::descriptor(const Launch& launch, size_t& param,
                                             size_t& next) const {
  const KernelParam& of = task_.kernels[launch.kernel].params[param];
  const std::string block = descriptor_block(of.type);
  const size_t rank = block_rank(block);
  std::string lists[2];
  const std::string base = arg_text(argument(launch, next));
  for (size_t i = 0; i < 2 * rank; ++i) {
    lists[i / rank] += arg_text(argument(launch, next + 1 + i)) + ", ";
  }
  param += 1 + 2 * rank;
  next += 1 + 2 * rank;
  const std::string layout = "[" + lists[0] + "], [" + lists[1] + "], " + block;
  return {of.name, std::string(kDescriptor) + "(" + base + ", " + layout + ")", false, base,
          layout};
}

}  // namespace kw
