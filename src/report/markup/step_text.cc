#include "report/markup/step_text.h"

#include <algorithm>
#include <cstdio>

#include "ops/operator.h"
#include "program/python/arg_text.h"
#include "verify/coverage/coverage.h"

namespace kw {
namespace {

constexpr size_t kLongestArgument = 60;

const AtenCall* as_call(const Step& step) { return std::get_if<AtenCall>(&step); }

// "aten.add.Tensor" -> "add"; other namespaces are kept.
std::string short_name(const std::string& op) {
  const size_t dot = op.find('.');
  if (dot == std::string::npos) return op;
  const size_t overload = op.rfind('.');
  const std::string base = op.substr(0, overload > dot ? overload : op.size());
  return base.starts_with("aten.") ? base.substr(5) : base;
}

// Names the leaves {"in": k} of a tree by the expressions that reach them.
void name_leaves(const Json& tree, const std::string& path, std::vector<std::string>& names) {
  if (!tree.is_object() || tree.empty()) return;
  const std::string kind = tree.begin().key();
  const Json& body = tree.front();
  if (kind == "in" && body.is_number_unsigned()) {
    if (const size_t k = body.get<size_t>(); k < names.size()) names[k] = path;
  } else if (body.is_object()) {
    for (const auto& [key, item] : body.items()) {
      name_leaves(item, path + "[" + Json(key).dump() + "]", names);
    }
  } else if (body.is_array()) {
    for (size_t i = 0; i < body.size(); ++i) {
      name_leaves(body[i], path + "[" + std::to_string(i) + "]", names);
    }
  }
}

std::vector<std::string> argument_names(const Task& task) {
  std::vector<std::string> names(task.inputs.outputs.size());
  for (size_t k = 0; k < names.size(); ++k) names[k] = "x" + std::to_string(k);
  for (size_t k = 0; k < task.arguments.size(); ++k) {
    const bool known = k < task.source.parameters.size();
    name_leaves(task.arguments[k],
                known ? task.source.parameters[k] : "args[" + std::to_string(k) + "]", names);
  }
  return names;
}

void tensors_of(const Arg& arg, const std::string& role, std::vector<TensorArgument>& out) {
  if (arg.is_value()) out.push_back({role, arg.value()});
  if (const auto* list = std::get_if<ArgList>(&arg.v)) {
    for (const Arg& item : *list) tensors_of(item, role, out);
  }
}

// A call's arguments in the schema's order (by name for operators outside the table).
std::vector<std::pair<std::string, const Arg*>> ordered_args(const AtenCall& call) {
  std::vector<std::pair<std::string, const Arg*>> out;
  const OperatorRow* row = find_operator(call.op);
  if (row) {
    for (const SchemaArg& slot : operator_schema(*row).args) {
      if (const Arg* arg = call.find(slot.name)) out.emplace_back(slot.name, arg);
    }
  }
  for (const auto& [name, arg] : call.args) {
    const bool listed =
        std::any_of(out.begin(), out.end(), [&](const auto& entry) { return entry.first == name; });
    if (!listed) out.emplace_back(name, &arg);
  }
  return out;
}

std::string float_text(double x) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.6g", x);
  return text;
}

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

std::string joined(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + item;
  return out;
}

}  // namespace

std::string shape_text(const Value& value) {
  std::string dims;
  for (int64_t d : value.shape) dims += (dims.empty() ? "" : "×") + std::to_string(d);
  const bool boolean = value.dtype == DType::kBool;
  return std::string(boolean ? "bool" : triton_dtype(value.dtype)) + " " +
         (dims.empty() ? "scalar" : dims);
}

std::string steps_text(const std::vector<int>& steps) {
  std::vector<std::string> runs;
  for (size_t i = 0; i < steps.size();) {
    size_t end = i + 1;
    while (end < steps.size() && steps[end] == steps[end - 1] + 1) ++end;
    std::string run = std::to_string(steps[i]);
    if (end - i > 1) run += (end - i > 2 ? "–" : ", ") + std::to_string(steps[end - 1]);
    runs.push_back(run);
    i = end;
  }
  return joined(runs);
}

size_t code_points(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

std::string ellipsis(const std::string& text, size_t length) {
  if (code_points(text) <= length) return text;
  size_t end = 0;
  for (size_t kept = 0; end < text.size(); ++end) {
    if ((text[end] & 0xC0) != 0x80 && ++kept == length) break;
  }
  return text.substr(0, end) + "…";
}

StepText::StepText(const Task& task) : task_(&task) {
  const Program& forward = task.forward;
  names_.resize(forward.values.size());
  is_state_.resize(forward.values.size());
  const size_t states = task.state.size(), derived = task.derive.outputs.size();
  const std::vector<std::string> arguments = argument_names(task);
  for (size_t i = 0; i < forward.inputs.size(); ++i) {
    std::string& name = names_[forward.inputs[i]];
    is_state_[forward.inputs[i]] = i < states + derived;
    if (i < states) {
      const std::vector<std::string>& known = task.state[i].names;
      name = known.empty() ? "state" + std::to_string(i) : known.front();
    } else if (i < states + derived) {
      name = "derived" + std::to_string(i - states);
    } else {
      const size_t k = i - states - derived;
      name = k < arguments.size() ? arguments[k] : "x" + std::to_string(k);
    }
  }
  int next = 0;
  for (const Step& step : forward.steps) {
    for (ValueId id : step_defines(step)) names_[id] = "t" + std::to_string(next++);
  }
}

std::string StepText::arg_text(const Arg& arg) const {
  const auto name_of = [this](ValueId id) { return id < 0 ? "None" : names_[id]; };
  return kw::arg_text(arg, {.value = name_of, .number = float_text, .text = quoted, .torch = ""});
}

std::string StepText::op(int step) const {
  const Step& s = program().steps[step];
  if (const AtenCall* call = as_call(s)) return short_name(call->op);
  return task_->kernels[std::get<Launch>(s).kernel].name;
}

std::string StepText::attributes(int step) const {
  const Step& s = program().steps[step];
  std::vector<std::string> parts;
  if (const AtenCall* call = as_call(s)) {
    for (const auto& [name, arg] : ordered_args(*call)) {
      std::vector<TensorArgument> tensors;
      tensors_of(*arg, name, tensors);
      if (tensors.empty()) parts.push_back(name + "=" + ellipsis(arg_text(*arg), kLongestArgument));
    }
  } else {
    const auto& grid = std::get<Launch>(s).grid;
    for (int64_t n : grid) parts.push_back(std::to_string(n));
    return "grid " + joined(parts);
  }
  return joined(parts);
}

std::vector<TensorArgument> StepText::operands(int step) const {
  const Step& s = program().steps[step];
  std::vector<TensorArgument> out;
  if (const AtenCall* call = as_call(s)) {
    for (const auto& [name, arg] : ordered_args(*call)) tensors_of(*arg, name, out);
    return out;
  }
  const auto& launch = std::get<Launch>(s);
  size_t next = 0;
  for (const KernelParam& param : task_->kernels[launch.kernel].params) {
    if (param.is_constexpr() || next >= launch.args.size()) continue;
    tensors_of(launch.args[next++], param.name, out);
  }
  return out;
}

std::string StepText::line(int step) const {
  const Step& s = program().steps[step];
  std::vector<std::string> targets, args;
  for (ValueId id : step_defines(s)) targets.push_back(names_[id]);
  if (const AtenCall* call = as_call(s)) {
    bool named = false;
    for (const auto& [name, arg] : ordered_args(*call)) {
      std::vector<TensorArgument> tensors;
      tensors_of(*arg, name, tensors);
      named = named || tensors.empty();  // numbers read better with their names
      args.push_back((named ? name + "=" : "") + ellipsis(arg_text(*arg), kLongestArgument));
    }
  } else {
    for (const Arg& arg : std::get<Launch>(s).args) args.push_back(arg_text(arg));
  }
  const std::string call_text = op(step) + "(" + joined(args) + ")";
  return targets.empty() ? call_text : joined(targets) + " = " + call_text;
}

bool StepText::is_view(int step) const {
  const AtenCall* call = as_call(program().steps[step]);
  const OperatorRow* row = call ? find_operator(call->op) : nullptr;
  return row && row->cls == OpClass::kView;
}

bool StepText::is_computing(int step) const {
  const Step& one = program().steps[step];
  return !as_call(one) || kw::is_computing(one);  // kernels do
}

}  // namespace kw
