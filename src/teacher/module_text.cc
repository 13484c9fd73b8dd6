#include "teacher/module_text.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "ops/operator.h"

namespace kw::teacher {
namespace {

std::string tuple_of(const std::vector<std::string>& items) {
  std::string out = "(";
  for (const std::string& item : items) out += (out.size() == 1 ? "" : ", ") + item;
  return out + (items.size() == 1 ? ",)" : ")");
}

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> out(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) out[d - 1] = out[d] * std::max<int64_t>(shape[d], 1);
  return out;
}

// Host code for a result's strides. A dense layout is written as products of sizes, so that it
// follows the shape; any other is copied.
std::vector<std::string> stride_texts(const Value& value, const std::vector<std::string>& sizes) {
  std::vector<size_t> order(value.shape.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return value.strides[a] != value.strides[b] ? value.strides[a] < value.strides[b]
                                                : value.shape[a] < value.shape[b];
  });
  std::vector<std::string> out(order.size());
  int64_t expected = 1;
  std::string product;
  for (size_t d : order) {
    if (value.strides[d] != expected) {
      for (size_t k = 0; k < out.size(); ++k) out[k] = std::to_string(value.strides[k]);
      return out;
    }
    out[d] = product.empty() ? "1" : product;
    if (value.shape[d] == 1) continue;
    expected *= value.shape[d];
    const bool plain = sizes[d].find("//") == std::string::npos;
    product += (product.empty() ? "" : " * ") + (plain ? sizes[d] : "(" + sizes[d] + ")");
  }
  return out;
}

std::string allocation(const Graph& graph, const Output& output) {
  const Value& value = graph.program.values[output.value];
  std::vector<Axes> dims(value.shape.size());
  for (const Piece& piece : output.pieces) {
    for (AxisId leaf : graph.axes.leaves(piece.axis)) dims[piece.stride.dim].push_back(leaf);
  }
  std::vector<std::string> sizes;
  for (const Axes& leaves : dims) sizes.push_back(size_text(graph, leaves));
  const std::string rest =
      ", device=a0.device, dtype=torch." + std::string(dtype_name(value.dtype)) + ")";
  const std::string& name = output.name;
  if (value.strides == contiguous_strides(value.shape)) {
    return name + " = torch.empty(" + tuple_of(sizes) + rest;
  }
  return name + " = torch.empty_strided(" + tuple_of(sizes) + ", " +
         tuple_of(stride_texts(value, sizes)) + rest;
}

// A result tree as a Python expression.
std::string tree_text(const Json& tree, const std::vector<Output>& outputs) {
  auto list = [&](const Json& items) {
    std::string out;
    for (const Json& item : items) out += (out.empty() ? "" : ", ") + tree_text(item, outputs);
    return out;
  };
  if (tree.is_null()) return "None";
  if (tree.is_boolean()) return tree.get<bool>() ? "True" : "False";
  if (tree.is_number() || tree.is_string()) return tree.dump();
  if (tree.contains("out")) return outputs.at(tree["out"].get<size_t>()).name;
  if (tree.contains("list")) return "[" + list(tree["list"]) + "]";
  if (tree.contains("tuple")) {
    return "(" + list(tree["tuple"]) + (tree["tuple"].size() == 1 ? ",)" : ")");
  }
  if (tree.contains("dict")) {
    std::string out;
    for (const Json& item : tree["dict"]) {
      out += (out.empty() ? "" : ", ") + item[0].dump() + ": " + tree_text(item[1], outputs);
    }
    return "{" + out + "}";
  }
  throw Refusal{"a result of unknown structure"};
}

// Where the bracket opens that the statement's last character closes; npos when it closes none.
size_t last_bracket(const std::string& statement) {
  std::vector<size_t> open;
  size_t found = std::string::npos;
  for (size_t i = 0; i < statement.size(); ++i) {
    const char c = statement[i];
    if (c == '(' || c == '[') open.push_back(i);
    if (c != ')' && c != ']') continue;
    if (open.empty()) return std::string::npos;
    found = i + 1 == statement.size() ? open.back() : std::string::npos;
    open.pop_back();
  }
  return open.empty() ? found : std::string::npos;
}

// Returns one statement of forward(), broken at 98 columns. If it ends in a call, it is broken
// after commas between arguments. Any other expression is put in parentheses and broken before
// operators.
std::string wrapped(std::string statement) {
  constexpr size_t kWidth = 98;
  const std::string indent(8, ' ');
  if (indent.size() + statement.size() <= kWidth) return indent + statement + "\n";
  size_t open = last_bracket(statement);
  const bool call =
      open != std::string::npos && open > 0 && statement[open] == '(' && statement[open - 1] != ' ';
  if (!call) {
    const size_t expression = statement.find(" = ");
    if (expression == std::string::npos) return indent + statement + "\n";
    open = expression + 3;
    statement = statement.substr(0, open) + "(" + statement.substr(open) + ")";
  }
  std::string out = indent + statement.substr(0, open + 1) + "\n";
  std::string line = indent + "    ", item;
  auto flush = [&] {
    if (line.size() + item.size() > kWidth && line.size() > indent.size() + 4) {
      while (line.back() == ' ') line.pop_back();
      out += line + "\n";
      line = indent + "    ";
    }
    line += item;
    item.clear();
  };
  int depth = 0;
  for (size_t i = open + 1; i + 1 < statement.size(); ++i) {
    const char c = statement[i];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    item += c;
    if (depth == 0 && c == ' ' && (call ? statement[i - 1] == ',' : statement[i + 1] == '*')) {
      flush();
    }
  }
  flush();
  return out + line + "\n" + indent + ")\n";
}

// Launches of a part, and the sizes and scratch memory that they are given. `locals` are the host's
// variables so far: parts have the same names for different sizes.
std::string host_calls(const Written& part, std::map<std::string, std::string>& locals) {
  std::string out;
  for (const KernelText& kernel : part.kernels) {
    for (const auto& [name, host] : kernel.locals()) {
      if (locals[name] == host) continue;
      locals[name] = host;
      out += wrapped(name + " = " + host);
    }
  }
  for (const Scratch& scratch : part.scratch) {
    out += wrapped(scratch.name + " = torch.empty((" + scratch.shape +
                   "), device=a0.device, dtype=" + scratch.dtype + ")");
  }
  for (const KernelText& kernel : part.kernels) out += wrapped(kernel.call());
  return out;
}

// Steps that a graph computes, but for views.
std::vector<const AtenCall*> computed_steps(const Program& program, const Graph& graph) {
  std::set<int> steps;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::kLoad && node.step >= 0) steps.insert(node.step);
  }
  std::vector<const AtenCall*> out;
  for (int step : steps) {
    const AtenCall* call = std::get_if<AtenCall>(&program.steps[step]);
    if (!call) continue;
    const OperatorRow* row = find_operator(call->op);
    if (!row || row->cls != OpClass::kView) out.push_back(call);
  }
  return out;
}

// The numbers of a program's values, in the order in which steps make them.
std::map<ValueId, int> numbers_of(const Program& program) {
  std::map<ValueId, int> out;
  for (const Step& step : program.steps) {
    const AtenCall* call = std::get_if<AtenCall>(&step);
    if (!call) continue;
    for (ValueId id : call->results) {
      if (id >= 0) out.emplace(id, static_cast<int>(out.size()));
    }
  }
  return out;
}

}  // namespace

std::vector<std::string> memory_texts(const Graph& part, const std::set<std::string>& in_place) {
  std::vector<std::string> out;
  for (const Output& output : part.outputs) {
    if (in_place.contains(output.name)) {
      out.push_back(output.name + " = " + tensor_name(part, output.target));
    } else {
      out.push_back(allocation(part, output));
    }
  }
  return out;
}

std::string value_list(const Program& program, const Graph& graph, int first_name) {
  const std::map<ValueId, int> numbers = numbers_of(program);
  std::set<int> computed;
  for (const Node& node : graph.nodes) {
    const bool read = node.kind == NodeKind::kLoad || node.operands.empty();
    if (!read && node.value >= 0) computed.insert(numbers.at(node.value));
  }
  std::string out;
  for (int number : computed) {
    out += (out.empty() ? "t" : ", t") + std::to_string(first_name + number);
  }
  return out.empty() ? "copy" : out;
}

void name_values(const Program& program, int first_name, Graph& graph) {
  const std::map<ValueId, int> numbers = numbers_of(program);
  for (Node& node : graph.nodes) {
    if (node.value < 0) continue;
    node.name = "t" + std::to_string(first_name + numbers.at(node.value));
  }
  std::set<ValueId> named;
  for (Output& output : graph.outputs) {
    const auto number = numbers.find(output.holds);
    const bool replaces = output.target >= 0 && output.target < graph.inputs;
    if (number == numbers.end() || replaces || !named.insert(output.holds).second) continue;
    output.name = "t" + std::to_string(first_name + number->second);
  }
  name_loads(graph);
}

void name_kernels(int first_name, std::vector<Written>& written) {
  std::map<std::string, std::string> names;
  for (Written& part : written) {
    for (KernelText& kernel : part.kernels) {
      const int next = first_name + static_cast<int>(names.size());
      kernel.rename(names.emplace(kernel.name(), "k" + std::to_string(next)).first->second);
    }
  }
}

std::string operator_list(const Program& program, const Graph& graph) {
  std::vector<std::string> names;
  for (const AtenCall* call : computed_steps(program, graph)) {
    const size_t start = call->op.find('.') + 1;
    std::string name = call->op.substr(start, call->op.rfind('.') - start);
    while (!name.empty() && name.front() == '_') name.erase(0, 1);
    names.push_back(name);
  }
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  if (out.size() > 80) out = out.substr(0, out.rfind(',', 76)) + ", ...";
  return out.empty() ? "copy" : out;
}

std::string module_text(const Task& task, const Graph& graph, const std::vector<Written>& written) {
  // Argument k of forward is input `in` of the program; every input must be a plain argument.
  std::string parameters = "self", renames;
  std::set<int> seen;
  for (size_t k = 0; k < task.arguments.size(); ++k) {
    const Json& tree = task.arguments[k];
    if (!tree.is_object() || !tree.contains("in")) throw Refusal{"a structured argument"};
    const int in = tree["in"].get<int>();
    if (in != static_cast<int>(k)) throw Refusal{"arguments out of order"};
    parameters += ", a" + std::to_string(in);
    seen.insert(in);
  }
  if (static_cast<int>(seen.size()) != graph.inputs) throw Refusal{"an input that is no argument"};

  bool libdevice = false, triton_host = false, descriptors = false;
  std::string kernels;
  std::map<std::string, std::string> helpers;
  std::set<std::string> in_place, defined;
  for (const Written& part : written) {
    in_place.insert(part.in_place.begin(), part.in_place.end());
    for (const KernelText& kernel : part.kernels) {
      helpers.insert(kernel.helpers().begin(), kernel.helpers().end());
      if (defined.insert(kernel.name()).second) kernels += kernel.source() + "\n\n";
      libdevice |= kernel.uses_libdevice();
      descriptors |= kernel.uses_descriptors();
      triton_host = true;
    }
  }
  std::string out = "import torch\n";
  if (triton_host) out += "import triton\nimport triton.language as tl\n";
  if (libdevice) out += "from triton.language.extra import libdevice\n";
  if (descriptors) out += "from triton.tools.tensor_descriptor import TensorDescriptor\n";
  out += "\n\n";
  for (const auto& [name, source] : helpers) out += source + "\n\n";
  out += kernels;
  out += "class ModelNew(torch.nn.Module):\n    def forward(" + parameters + "):\n";
  std::map<std::string, std::string> locals;
  for (const Written& part : written) {
    for (const std::string& statement : part.memory) out += wrapped(statement);
    out += host_calls(part, locals);
  }
  for (const Output& output : graph.outputs) {
    const bool replaces = output.target >= 0 && output.target < graph.inputs;
    if (!replaces || in_place.count(output.name)) continue;
    out += wrapped(tensor_name(graph, output.target) + ".copy_(" + output.name + ")");
  }
  out += "        return " + tree_text(task.result, graph.outputs) + "\n";
  return out;
}

}  // namespace kw::teacher
