#include "program/export.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <sstream>

#include "formats/error.h"
#include "ops/operator.h"
#include "program/python_call.h"
#include "program/task_json.h"
#include "program/transform.h"

namespace kw {
namespace {

std::string python_float(double x) {
  if (std::isnan(x)) return "float(\"nan\")";
  if (std::isinf(x)) return x > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  char text[64];
  const auto end = std::to_chars(text, text + sizeof(text), x).ptr;
  std::string out(text, end);
  if (out.find_first_of(".en") == std::string::npos) out += ".0";
  return out;
}

std::string python_string(const std::string& text) { return Json(text).dump(); }

template <class T>
std::string python_tuple(const std::vector<T>& items) {
  std::string out = "(";
  for (const T& item : items) out += std::to_string(item) + ", ";
  if (items.size() > 1) out.resize(out.size() - 2);
  if (items.size() == 1) out.resize(out.size() - 1);
  return out + ")";
}

std::string torch_dtype(DType dtype) { return "torch." + std::string(dtype_name(dtype)); }

// `[3]["key"]`: items of containers, as the recorder writes them.
bool is_item_access(std::string_view text) {
  while (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return false;
    std::string_view key = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (key.size() > 2 && key.starts_with('"') && key.ends_with('"')) {
      if (!is_identifier(key.substr(1, key.size() - 2))) return false;
      continue;
    }
    if (key.starts_with('-')) key.remove_prefix(1);
    if (key.empty() ||
        !std::all_of(key.begin(), key.end(), [](char c) { return '0' <= c && c <= '9'; }))
      return false;
  }
  return text.empty();
}

// Words that no attribute can be named by after a dot.
bool is_keyword(std::string_view word) {
  static const std::set<std::string_view> words = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  return words.count(word) > 0;
}

// `layers.0.weight` or `many[0].weight` as an attribute path; names that are no identifiers, or
// are keywords, go through getattr.
std::string attribute_path(const std::string& qualified) {
  std::string out = "self";
  std::stringstream parts(qualified);
  for (std::string part; std::getline(parts, part, '.');) {
    const size_t bracket = std::min(part.find('['), part.size());
    const std::string name = part.substr(0, bracket), items = part.substr(bracket);
    const bool plain = is_identifier(name) && !is_keyword(name) && is_item_access(items);
    out = plain ? out + "." + part : "getattr(" + out + ", " + python_string(part) + ")";
  }
  return out;
}

// Triton's spelling of a dtype inside constexprs ("fp16" is tl.float16).
std::string triton_language_dtype(const std::string& name) {
  static const std::map<std::string, std::string> names = {
      {"fp16", "float16"}, {"bf16", "bfloat16"}, {"fp32", "float32"}, {"fp64", "float64"},
      {"i1", "int1"},      {"i8", "int8"},       {"i16", "int16"},    {"i32", "int32"},
      {"i64", "int64"},    {"u8", "uint8"},      {"u16", "uint16"},   {"u32", "uint32"},
      {"u64", "uint64"}};
  auto it = names.find(name);
  if (it == names.end()) throw InputError("export: unknown constexpr dtype " + name);
  return "tl." + it->second;
}

std::string constexpr_text(const Json& value) {
  if (value.is_null()) return "None";
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_number_integer()) return value.dump();
  if (value.is_number()) return python_float(value.get<double>());
  if (value.is_string()) return python_string(value.get<std::string>());
  if (value.contains("dtype")) return triton_language_dtype(value.at("dtype").get<std::string>());
  if (value.contains("function")) return value.at("function").get<std::string>();
  if (value.contains("tuple")) {
    std::string out = "(";
    for (const Json& item : value.at("tuple")) out += constexpr_text(item) + ", ";
    return out + ")";
  }
  throw InputError("export: unknown constexpr " + value.dump());
}

// A slice's text as header lines (imports, constants) and function blocks.
struct SliceText {
  std::vector<std::string> header, functions;
};

SliceText take_apart(const std::string& source) {
  SliceText out;
  std::stringstream lines(source);
  std::string block;
  bool in_function = false, body = false;
  auto finish = [&] {
    while (block.ends_with("\n\n")) block.pop_back();
    if (!block.empty()) out.functions.push_back(block);
    block.clear();
  };
  for (std::string line; std::getline(lines, line);) {
    const bool starts = line.starts_with("@");
    if (starts && (!in_function || body)) {
      finish();
      in_function = true;
      body = false;
    }
    if (!in_function) {
      if (!line.empty()) out.header.push_back(line);
      continue;
    }
    if (line.starts_with("def ")) body = true;
    block += line + "\n";
  }
  finish();
  return out;
}

class ForwardWriter {
 public:
  ForwardWriter(const Task& task, const Program& program) : task_(task), program_(program) {
    names_.resize(program.values.size());
  }

  void name(ValueId id, const std::string& text) { names_[id] = text; }
  const std::string& name(ValueId id) const { return names_[id]; }

  std::string steps(const std::string& indent) {
    std::string out;
    for (const Step& step : program_.steps) out += indent + statement(step) + "\n";
    return out;
  }

 private:
  std::string arg_text(const Arg& arg) const {
    return std::visit(
        [&](const auto& x) -> std::string {
          using T = std::decay_t<decltype(x)>;
          if constexpr (std::is_same_v<T, std::monostate>)
            return "None";
          else if constexpr (std::is_same_v<T, bool>)
            return x ? "True" : "False";
          else if constexpr (std::is_same_v<T, int64_t>)
            return std::to_string(x);
          else if constexpr (std::is_same_v<T, double>)
            return python_float(x);
          else if constexpr (std::is_same_v<T, std::string>)
            return python_string(x);
          else if constexpr (std::is_same_v<T, ValueRef>)
            return names_[x.id];
          else if constexpr (std::is_same_v<T, DType>)
            return torch_dtype(x);
          else if constexpr (std::is_same_v<T, DeviceArg>)
            return "\"cuda\"";
          else if constexpr (std::is_same_v<T, LayoutArg>)
            return "torch." + x.name;
          else if constexpr (std::is_same_v<T, MemoryFormatArg>)
            return "torch." + x.name;
          else {
            std::string out = "[";
            for (const Arg& item : x) out += (out.size() > 1 ? ", " : "") + arg_text(item);
            return out + "]";
          }
        },
        arg.v);
  }

  std::string statement(const Step& step) {
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

  bool returns_list(const AtenCall& call) const {
    const OperatorRow* row = find_operator(call.op);
    if (!row) return false;
    const std::vector<std::string>& results = operator_schema(*row).results;
    return results.size() == 1 && results[0].ends_with("[]");
  }

  std::string call_text(const AtenCall& call) const {
    if (call.op == "kernelwright.constant.default") return constant_text(call);
    const OperatorRow* row = find_operator(call.op);
    if (!row) throw InputError("export: operator " + call.op + " is not in the table");
    const std::vector<SchemaArg>& slots = operator_schema(*row).args;
    const Arg* self = slots.empty() ? nullptr : call.find(slots[0].name);
    const PythonCall spelled = python_call(call.op, self && self->is_value());
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

  // Nested lists: a reshape would be recorded as a step of its own.
  std::string constant_text(const AtenCall& call) const {
    const Value& value = program_.values[call.results[0]];
    const auto& data = std::get<std::vector<Arg>>(call.find("data")->v);
    const std::string like = ", dtype=" + torch_dtype(value.dtype) + ", device=\"cuda\")";
    if (data.empty()) return "torch.empty(" + arg_text(*call.find("shape")) + like;
    size_t next = 0;
    return "torch.tensor(" + nested(value.shape, 0, data, next) + like;
  }

  std::string nested(const std::vector<int64_t>& shape, size_t dim, const std::vector<Arg>& data,
                     size_t& next) const {
    if (dim == shape.size()) return arg_text(data[next++]);
    std::string out = "[";
    for (int64_t i = 0; i < shape[dim]; ++i) {
      out += (i ? ", " : "") + nested(shape, dim + 1, data, next);
    }
    return out + "]";
  }

  std::string launch_text(const Launch& launch) const {
    const Kernel& kernel = task_.kernels[launch.kernel];
    std::string out = kernel.name + "[" +
                      python_tuple(std::vector<int64_t>(launch.grid.begin(), launch.grid.end())) +
                      "](";
    // After one keyword every later argument must be one too.
    bool keyword = false;
    std::string separator;
    for (size_t i = 0, next = 0; i < kernel.params.size();) {
      const std::string name = kernel.params[i].name.substr(0, kernel.params[i].name.find('.'));
      keyword = keyword || (kernel.params[i].name == name && kernel.params[i].is_constexpr());
      out += separator + (keyword ? name + "=" : "") + parameter_text(launch, name, i, next);
      separator = ", ";
    }
    for (const auto& [option, value] : kernel.options.items()) {
      out += ", " + option + "=" + constexpr_text(value);
    }
    return out + ")";
  }

  // The argument for what `path` names, a parameter or an item of a tuple. `param` and `next` go on
  // behind the parameters and launch arguments that it takes.
  std::string parameter_text(const Launch& launch, const std::string& path, size_t& param,
                             size_t& next) const {
    const Kernel& kernel = task_.kernels[launch.kernel];
    if (kernel.params[param].is_descriptor()) return descriptor_text(launch, param, next);
    if (kernel.params[param].name == path) {
      const size_t index = param++;
      return kernel.params[index].is_constexpr()
                 ? constexpr_text(kernel.constexprs.value(std::to_string(index), Json()))
                 : arg_text(launch.args[next++]);
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

  // The parameter, its shape and its strides.
  std::string descriptor_text(const Launch& launch, size_t& param, size_t& next) const {
    const std::string& type = task_.kernels[launch.kernel].params[param].type;
    const size_t open = type.find('['), close = type.find(']');
    if (open == std::string::npos || close == std::string::npos || close < open) {
      throw InputError("export: a tensor descriptor of type " + type);
    }
    const std::string block = type.substr(open, close - open + 1);
    const size_t rank = 1 + std::count(block.begin(), block.end(), ',');
    std::string lists[2];
    const std::string base = arg_text(launch.args.at(next));
    for (size_t i = 0; i < 2 * rank; ++i) {
      lists[i / rank] += arg_text(launch.args.at(next + 1 + i)) + ", ";
    }
    param += 1 + 2 * rank;
    next += 1 + 2 * rank;
    return "triton.tools.tensor_descriptor.TensorDescriptor(" + base + ", [" + lists[0] + "], [" +
           lists[1] + "], " + block + ")";
  }

  const Task& task_;
  const Program& program_;
  std::vector<std::string> names_;
  int next_ = 0;
};

// {"f": "inf"}
std::string special_float(const Json& tree) {
  const Json& which = tree.front();
  return python_float(which == "nan" ? NAN : which == "inf" ? INFINITY : -INFINITY);
}

std::string result_text(const Json& tree, const ForwardWriter& writer,
                        const std::vector<ValueId>& outputs) {
  if (!tree.is_object()) return constexpr_text(tree);
  const std::string kind = tree.begin().key();
  const Json& body = tree.front();
  if (kind == "out") return writer.name(outputs.at(body.get<size_t>()));
  if (kind == "f") return special_float(tree);
  std::string inside;
  if (kind == "dict") {
    for (const Json& item : body) {
      inside += constexpr_text(item[0]) + ": " + result_text(item[1], writer, outputs) + ", ";
    }
    return "{" + inside + "}";
  }
  if (kind == "object") {
    for (const auto& [field, item] : body.at("fields").items()) {
      inside += field + "=" + result_text(item, writer, outputs) + ", ";
    }
    return body.at("type").get<std::string>() + "(" + inside + ")";
  }
  for (const Json& item : body) inside += result_text(item, writer, outputs) + ", ";
  return kind == "list" ? "[" + inside + "]" : "(" + inside + ")";
}

// Whether an argument is the number, string or None that was recorded: `==` alone is no test of
// that, as True == 1, and a tensor answers with a tensor.
std::string literal_check(const Json& literal, const std::string& path) {
  if (literal.is_null() || literal.is_boolean()) return path + " is " + constexpr_text(literal);
  const bool special = literal.is_object();  // {"f": "inf"}
  const char* type = literal.is_string() ? "str" : literal.is_number_integer() ? "int" : "float";
  const std::string typed = "type(" + path + ") is " + type + " and ";
  if (special && literal.front() == "nan") return typed + path + " != " + path;
  return typed + path + " == " + (special ? special_float(literal) : constexpr_text(literal));
}

// For each leaf {"in": k} the Python expression that reaches it; `checks` collects what literals
// and containers must be, each after those of what it stands in.
void argument_leaves(const Json& tree, const std::string& path, std::vector<std::string>& leaves,
                     std::vector<std::string>& checks) {
  if (!tree.is_object() || tree.contains("f")) {
    checks.push_back(literal_check(tree, path));
    return;
  }
  const std::string kind = tree.begin().key();
  const Json& body = tree.front();
  if (kind == "in") {
    std::string& leaf = leaves.at(body.get<size_t>());
    if (!leaf.empty()) checks.push_back(path + " is " + leaf);  // one tensor, given twice
    if (leaf.empty()) leaf = path;
  } else if (kind == "dict") {
    std::string keys;
    for (const Json& item : body) keys += constexpr_text(item[0]) + ", ";
    checks.push_back("isinstance(" + path + ", dict) and list(" + path + ") == [" + keys + "]");
    for (const Json& item : body) {
      argument_leaves(item[1], path + "[" + constexpr_text(item[0]) + "]", leaves, checks);
    }
  } else if (kind == "list" || kind == "tuple") {
    checks.push_back("isinstance(" + path + ", " + kind + ") and len(" + path +
                     ") == " + std::to_string(body.size()));
    for (size_t i = 0; i < body.size(); ++i) {
      argument_leaves(body[i], path + "[" + std::to_string(i) + "]", leaves, checks);
    }
  }
}

std::string expectation(const Value& value) {
  return "(" + torch_dtype(value.dtype) + ", " + python_tuple(value.shape) + ", " +
         python_tuple(value.strides) + ")";
}

bool takes_descriptors(const Task& task) {
  for (const Kernel& kernel : task.kernels) {
    for (const KernelParam& param : kernel.params) {
      if (param.is_descriptor()) return true;
    }
  }
  return false;
}

// When memory is not shared as it was recorded, in Python; empty where that cannot matter. Ties of
// parameters must still hold, and arguments must not overlap what forward writes to: the steps may
// run in another order than the original's.
std::string other_sharing(const Task& task, const ForwardWriter& writer) {
  const Program& forward = task.forward;
  std::set<int> written;
  for (const Step& step : forward.steps) {
    for (ValueId id : step_writes(step, task.kernels)) written.insert(forward.values[id].storage);
  }
  std::string out;
  const size_t state = task.state.size(), derived = task.derive.outputs.size();
  for (size_t i = 0; i < state; ++i) {
    const std::vector<std::string>& names = task.state[i].names;
    for (size_t k = 1; k < names.size(); ++k) {
      out += " or not torch._C._is_alias_of(" + attribute_path(names[k]) + ", " +
             writer.name(forward.inputs[i]) + ")";
    }
  }
  for (size_t b = state + derived; b < forward.inputs.size(); ++b) {
    for (size_t a = 0; a < b; ++a) {
      if (a >= state && a < state + derived) continue;  // nobody else's memory
      const ValueId x = forward.inputs[a], y = forward.inputs[b];
      const int one = forward.values[x].storage, other = forward.values[y].storage;
      if (one == other || !(written.count(one) || written.count(other))) continue;
      out += " or torch._C._is_alias_of(" + writer.name(x) + ", " + writer.name(y) + ")";
    }
  }
  return out.empty() ? out : out.substr(4);
}

// Shape, strides and dtype decide what the kernels do; descriptors also want aligned addresses,
// which views of a tensor may not have.
std::string guards_text(bool descriptors) {
  const std::string_view aligned =
      "                and tensor.storage_offset() * tensor.element_size() % 16 == 0\n";
  return R"py(

def _kw_matches(tensors, expected):
    """True when every tensor is on the current GPU and has the dtype, shape and strides the
    kernels were written for, and neither gradients nor autocast are wanted."""
    try:
        for tensor, (dtype, shape, strides) in zip(tensors, expected):
            if not (
                tensor.is_cuda
                and tensor.dtype == dtype
                and tensor.shape == shape
                and tensor.stride() == strides
)py" + std::string(descriptors ? aligned : "") +
         R"py(            ):
                return False
    except AttributeError:  # a number in the place of a tensor
        return False
    if not {tensor.get_device() for tensor in tensors} <= {torch.cuda.current_device()}:
        return False
    if torch.is_autocast_enabled("cuda"):
        return False
    return not (torch.is_grad_enabled() and any(t.requires_grad for t in tensors))
)py";
}

// The kernels of a task once each, with the header lines their slices need.
std::string kernels_text(const Task& task) {
  std::set<std::string> header, seen;
  std::map<std::string, std::string> by_name;
  std::string functions;
  for (const Kernel& kernel : task.kernels) {
    const SliceText slice = take_apart(kernel.source);
    header.insert(slice.header.begin(), slice.header.end());
    for (const std::string& function : slice.functions) {
      if (!seen.insert(function).second) continue;
      const size_t def = function.find("\ndef ");
      const std::string name = function.substr(def + 5, function.find('(', def) - def - 5);
      if (!by_name.emplace(name, function).second) {
        throw InputError("export: two kernels are both named " + name);
      }
      functions += "\n\n" + function;
    }
  }
  header.insert("import torch");
  if (takes_descriptors(task)) header.insert("import triton.tools.tensor_descriptor");
  std::string out;
  for (const std::string& line : header) out += line + "\n";
  return out + functions;
}

}  // namespace

std::string export_python(const Task& original, const std::string& user_source) {
  const Task task = canonical(original);
  const Program& forward = task.forward;
  ForwardWriter writer(task, forward);

  std::string bind;  // statements that name what forward's inputs are
  std::vector<std::string> guarded, expected;
  std::vector<std::string> state_paths;
  for (size_t i = 0; i < task.state.size(); ++i) {
    const ValueId id = forward.inputs[i];
    if (task.state[i].names.empty()) {
      throw InputError("export: the model keeps a tensor that no attribute path reaches");
    }
    const std::string path = attribute_path(task.state[i].names[0]);
    state_paths.push_back(path);
    writer.name(id, "p" + std::to_string(i));
    bind += "        p" + std::to_string(i) + " = " + path + "\n";
    guarded.push_back("p" + std::to_string(i));
    expected.push_back(expectation(forward.values[id]));
  }
  const size_t first_input = task.state.size() + task.derive.outputs.size();
  std::vector<std::string> leaves(forward.inputs.size() - first_input), checks;
  for (size_t k = 0; k < task.arguments.size(); ++k) {
    argument_leaves(task.arguments[k], "args[" + std::to_string(k) + "]", leaves, checks);
  }
  std::string bind_inputs;
  for (size_t k = 0; k < leaves.size(); ++k) {
    const ValueId id = forward.inputs[first_input + k];
    const bool plain =
        k < task.source.parameters.size() && leaves[k] == "args[" + std::to_string(k) + "]";
    const std::string name = plain ? task.source.parameters[k] + "_" : "x" + std::to_string(k);
    writer.name(id, name);
    bind_inputs += "        " + name + " = " + leaves[k] + "\n";
    guarded.push_back(name);
    expected.push_back(expectation(forward.values[id]));
  }

  std::string derived;
  if (!task.derive.outputs.empty()) {
    ForwardWriter pack(task, task.derive);
    std::string names, held, key, body_bind;
    for (size_t i = 0; i < state_paths.size(); ++i) {
      const std::string p = "p" + std::to_string(i);
      pack.name(task.derive.inputs[i], p);
      body_bind += "        " + p + " = " + state_paths[i] + "\n";
      held += p + ", ";
      key += "(id(" + p + "), " + p + "._version), ";
    }
    derived +=
        "    def _kw_derived(self):\n"
        "        \"\"\"Tensors that depend on the parameters alone, made again when those "
        "change.\"\"\"\n" +
        body_bind + "        try:\n            key = (" + key +
        ")\n"
        "        except RuntimeError:  # inference tensors count no versions\n"
        "            key = object()\n"
        "        if self.__dict__.get(\"_kw_key\") != key:\n" +
        pack.steps("            ");
    for (ValueId id : task.derive.outputs) names += pack.name(id) + ", ";
    derived += "            self.__dict__[\"_kw_packed\"] = (" + names +
               ")\n"
               "            self.__dict__[\"_kw_held\"] = (" +
               held +
               ")  # so that no other tensor gets their ids\n"
               "            self.__dict__[\"_kw_key\"] = key\n"
               "        return self.__dict__[\"_kw_packed\"]\n\n";
    std::string targets;
    for (size_t k = 0; k < task.derive.outputs.size(); ++k) {
      const std::string d = "d" + std::to_string(k);
      writer.name(forward.inputs[task.state.size() + k], d);
      targets += d + ", ";
    }
    bind_inputs += "        " + targets.substr(0, targets.size() - 1) + " = self._kw_derived()\n";
  }

  std::string condition = "kwargs or len(args) != " + std::to_string(task.arguments.size());
  for (const std::string& check : checks) condition += " or not (" + check + ")";
  if (task.source.mode == "train") condition += " or not self.training";
  if (task.source.mode == "eval") condition += " or self.training";
  std::string guarded_list, expected_list;
  for (const std::string& g : guarded) guarded_list += g + ", ";
  for (const std::string& e : expected) expected_list += "        " + e + ",\n";

  std::ostringstream out;
  out << user_source << (user_source.ends_with("\n") ? "" : "\n")
      << "\n\n# ---- Written by Kernelwright. Needs torch and triton; nothing else. ----\n"
      << "import warnings\n"
      << kernels_text(task) << guards_text(takes_descriptors(task)) << "\n\nclass ModelNew("
      << task.source.cls << "):\n"
      << "    \"\"\"" << task.source.cls
      << " with its forward replaced by the steps below. Parameters, buffers and state_dict keys\n"
      << "    are the original's. Other shapes, dtypes or layouts, and calls that want gradients, "
         "run the\n"
      << "    original forward.\"\"\"\n\n"
      << "    _kw_expected = (\n"
      << expected_list << "    )\n\n"
      << derived << "    def _kw_original(self, args, kwargs):\n"
      << "        if not self.__dict__.get(\"_kw_warned\"):\n"
      << "            self.__dict__[\"_kw_warned\"] = True\n"
      << "            warnings.warn(\"ModelNew: running the original forward, because its kernels "
         "are for other \"\n"
      << "                          \"arguments, shapes, dtypes, layouts or another GPU than the "
         "current one, \"\n"
      << "                          \"or autocast or gradients are wanted (no torch.no_grad())\")\n"
      << "        return super().forward(*args, **kwargs)\n\n"
      << "    def forward(self, *args, **kwargs):\n"
      << "        if " << condition << ":\n"
      << "            return self._kw_original(args, kwargs)\n"
      << bind << bind_inputs.substr(0, bind_inputs.find("        d0,"))
      << "        if not _kw_matches((" << guarded_list << "), self._kw_expected):\n"
      << "            return self._kw_original(args, kwargs)\n";
  if (const std::string other = other_sharing(task, writer); !other.empty()) {
    out << "        if " << other << ":\n            return self._kw_original(args, kwargs)\n";
  }
  if (const size_t d = bind_inputs.find("        d0,"); d != std::string::npos) {
    out << bind_inputs.substr(d);
  }
  const std::string body = writer.steps("        ");
  out << body << "        return " << result_text(task.result, writer, forward.outputs) << "\n";
  return out.str();
}

}  // namespace kw
