#include "program/python/call_conditions.h"

#include <algorithm>

#include "formats/base/error.h"
#include "program/checked/checked_names.h"
#include "program/python/python_text.h"

namespace kw {
namespace {

// Returns the Python condition that an argument is the number, string or None that was recorded. It
// tests the type too: True == 1 holds, and `==` on a tensor gives a tensor.
std::string literal_check(const Json& literal, const std::string& path) {
  if (literal.is_null() || literal.is_boolean()) return path + " is " + python_literal(literal);
  const bool special = literal.is_object();  // {"f": "inf"}
  const char* type = literal.is_string() ? "str" : literal.is_number_integer() ? "int" : "float";
  const std::string typed = "type(" + path + ") is " + type + " and ";
  if (special && literal.front() == "nan") return typed + path + " != " + path;
  return typed + path + " == " + (special ? special_float(literal) : python_literal(literal));
}

// Kernels are judged for one kind of GPU, and for what was decided by its properties.
std::string judged_function(const Task& task) {
  const std::string& target = task.target;
  const bool known =
      target.starts_with("sm_") && target.size() >= 5 && target.size() <= 6 && target[3] != '0' &&
      std::all_of(target.begin() + 3, target.end(), [](char c) { return '0' <= c && c <= '9'; });
  if (!known) throw InputError("export: no architecture: " + python_string(target));
  std::string condition = "(gpu.major, gpu.minor) == (" + target.substr(3, target.size() - 4) +
                          ", " + target.back() + ")";
  for (const auto& [name, value] : task.source.device) {
    condition += "\n            and gpu." + checked_property(name) + " == " + python_literal(value);
  }
  return R"py(

_kw_judged = {}  # by GPU


def _kw_is_judged(device):
    """True for a GPU of the kind that the kernels were judged for."""
    if device not in _kw_judged:
        gpu = torch.cuda.get_device_properties(device)
        _kw_judged[device] = (
            )py" +
         condition + R"py(
        )
    return _kw_judged[device]
)py";
}

}  // namespace

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
  } else if (kind == "torch") {
    checks.push_back(path + " is torch." + checked_keyword(body.get<std::string>()));
  } else if (kind == "dict") {
    std::string keys;
    for (const Json& item : body) keys += python_literal(item[0]) + ", ";
    checks.push_back("isinstance(" + path + ", dict) and list(" + path + ") == [" + keys + "]");
    for (const Json& item : body) {
      argument_leaves(item[1], path + "[" + python_literal(item[0]) + "]", leaves, checks);
    }
  } else if (kind == "list" || kind == "tuple") {
    checks.push_back("isinstance(" + path + ", " + kind + ") and len(" + path +
                     ") == " + std::to_string(body.size()));
    for (size_t i = 0; i < body.size(); ++i) {
      argument_leaves(body[i], path + "[" + std::to_string(i) + "]", leaves, checks);
    }
  }
}

std::string expectation(const std::string& name, const Value& value) {
  return "(" + python_string(name) + ", " + torch_dtype(value.dtype) + ", " +
         python_tuple(value.shape) + ", " + python_tuple(value.strides) + ")";
}

std::string device_names() {
  return R"py(

_kw_interpreted = _kw_triton.knobs.runtime.interpret  # TRITON_INTERPRET=1: kernels run on the CPU
_kw_device = "cpu" if _kw_interpreted else "cuda"
)py";
}

// Shape, strides and dtype decide what the kernels do. Descriptors also want aligned addresses,
// which views of a tensor may not have, and so does a program that asked for them.
std::string misfit_function(const Task& task) {
  const std::string_view aligned =
      R"py(        if tensor.storage_offset() * tensor.element_size() % 16:
            return name + " does not begin at a multiple of 16 bytes"
)py";
  return judged_function(task) + R"py(

def _kw_misfit(tensors, expected):
    """Why kernels must not run on tensors: None if all are on the device where kernels run, with the
    dtype, shape and strides they were written for, and neither gradients nor autocast are wanted."""
    for tensor, (name, dtype, shape, strides) in zip(tensors, expected):
        if not isinstance(tensor, torch.Tensor):
            return name + " is no tensor"
        # Those that wrap others have no memory of their own.
        wraps = type(tensor).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__
        if tensor.layout != torch.strided or tensor.is_nested or wraps:
            return name + " is sparse, nested, or wraps other tensors"
        if not (
            tensor.is_cuda != _kw_interpreted
            and tensor.dtype == dtype
            and tensor.shape == shape
            and tensor.stride() == strides
            and not (tensor.is_neg() or tensor.is_conj())
        ):
            found = (str(tensor.device), tensor.dtype, tuple(tensor.shape), tensor.stride())
            recorded = (_kw_device, dtype, shape, strides)
            return "%s has the device, dtype, shape and strides %s, and %s was recorded" % (
                name, found, recorded
            )
)py" + std::string(takes_descriptors(task) || task.source.aligned ? aligned : "") +
         R"py(    device = -1 if _kw_interpreted else torch.cuda.current_device()  # -1: of tensors on the CPU
    if not {tensor.get_device() for tensor in tensors} <= {device}:
        return "a tensor is on another GPU than the current one"
    if not (_kw_interpreted or _kw_is_judged(device)):
        return "its kernels were judged for another kind of GPU"
    if torch.is_autocast_enabled(_kw_device):
        return "autocast is on"
    if torch._C._are_functorch_transforms_active() or torch.jit.is_tracing():
        return "function transforms are on, or a trace"  # tensors stand for others
    if torch.get_default_dtype() != )py" +
         torch_dtype(task.source.default_dtype) + R"py(:
        return "PyTorch's default dtype is another one"
    differentiates = torch.autograd.forward_ad._current_level >= 0
    if differentiates or torch.is_grad_enabled() and any(t.requires_grad for t in tensors):
        return "gradients are wanted (no torch.no_grad())"
    return None
)py";
}

std::string made_class() {
  return R"py(

class _kw_Made:
    """What is made of a module's state, and the key that tells whether the state has changed."""

    def __init__(self, key, tensors, held):
        self.key, self.tensors, self.held = key, tensors, held

    def __reduce__(self):  # a copy of the module makes its own
        return (type(None), ())
)py";
}

std::string tables_function(const Task& task, const Program& premises) {
  StepWriter writer(task, premises, 0, "device");
  std::string tables, made;
  const std::string steps = writer.steps("        ");
  for (size_t i = 0; i < premises.outputs.size(); ++i) {
    tables += (i ? " p" : "p") + std::to_string(i) + ",";
    made += (i ? "\n            and " : "") + std::string("torch.equal(p") + std::to_string(i) +
            ", " + writer.name(premises.outputs[i]) + ".to(p" + std::to_string(i) + ".device))";
  }
  return R"py(

def _kw_are_tables(tensors):
    """True when tensors are what the constructor makes, wherever it makes them: functions like sin
    differ by a unit between devices."""
    )py" +
         tables + R"py( = tensors
    for device in (_kw_device, None):
)py" + steps +
         "        if (\n            " + made + R"py(
        ):
            return True
    return False
)py";
}

}  // namespace kw
