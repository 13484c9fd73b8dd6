#include "program/python/export.h"

#include <algorithm>
#include <set>

#include "formats/base/error.h"
#include "program/checked/checked_names.h"
#include "program/checked/checked_text.h"
#include "program/checked/slice_writer.h"
#include "program/python/call_conditions.h"
#include "program/python/graph_path.h"
#include "program/python/host_path.h"
#include "program/python/memory_guard.h"
#include "program/python/module_guard.h"
#include "program/python/python_text.h"
#include "program/python/step_writer.h"
#include "program/rewrite/tables.h"
#include "program/rewrite/transform.h"
#include "program/task_json.h"

namespace kw {
namespace {

// Steps that make their tensors where kernels run (device_names()).
StepWriter exported(const Task& task, const Program& program) {
  return StepWriter(task, program, 0, "_kw_device");
}

// Why a call runs the original.
constexpr const char* kArguments = "its kernels are for other arguments";
constexpr const char* kGone = "a module or tensor of the model is gone";
constexpr const char* kMemory = "tensors share memory otherwise than recorded";
constexpr const char* kTables = "a table of the model was changed";

// What forward calls where arguments come by name.
constexpr const char* kPlaced = R"py(

def _kw_placed(args, kwargs, names):
    """Arguments by their places, where `kwargs` names all that are left of those that were recorded;
    else as they are."""
    left = names[len(args):]
    if len(left) != len(kwargs) or not all(name in kwargs for name in left):
        return args, kwargs
    return args + tuple(kwargs[name] for name in left), {}
)py";

// The class: each part is some lines of it.
class ModuleWriter {
 public:
  explicit ModuleWriter(const Task& task)
      : task_(task),
        forward_(exported(task, task.forward)),
        memory_(task),
        no_graph_(no_graph_because(task)) {
    forward_.launch_by(launches_, "where");
    asks_state_ = !task_.derive.outputs.empty() ||
                  std::ranges::any_of(task_.state, [](const StateEntry& e) { return e.premise; });
    name_state();
    name_arguments();
  }

  std::string text() {
    const std::string& cls = checked_base(task_.source.cls);
    std::string out = "class ModelNew(" + cls + "):\n    \"\"\"" + cls;
    out +=
        R"py( with its forward replaced by the steps below. Parameters, buffers and state_dict keys
    are the original's. A call that the steps are not for runs the original forward, and the first
    one warns and says why."""

    _kw_expected = (
)py";
    out += expected_ + "    )\n" + paths() + memory_.attribute() + "\n";
    if (asks_state_) out += derived();
    out += R"py(    def _kw_original(self, args, kwargs, why):
        if not self.__dict__.get("_kw_warned"):
            self.__dict__["_kw_warned"] = True
            _kw_warnings.warn("ModelNew: running the original forward, because " + why)
        return super().forward(*args, **kwargs)

)py";
    out += bind() + "\n" + steps() + "\n";
    return out + graphed_method(no_graph_) + forward() + graphed_name(cls);
  }

  // What the class uses: a function that lays tensors out, what is made once, tables, launches.
  // text() has been called.
  std::string helpers() const {
    const Program premises = premises_of(task_);
    std::string out;
    for (const Program* program : {&task_.forward, &task_.derive, &premises}) {
      if (out.empty()) out = exported(task_, *program).helper();
    }
    if (!keywords().empty()) out += kPlaced;
    out += memory_.functions() + change_function() + bound_class(no_graph_.empty());
    if (no_graph_.empty()) out += graph_classes();
    if (asks_state_) out += made_class();
    if (!premises.outputs.empty()) out += tables_function(task_, premises);
    return out + launch_class(launches_);
  }

 private:
  // Names for the state: p0, p1, ..., and q0, q1, ... for further names of tied tensors.
  void name_state() {
    for (size_t i = 0; i < task_.state.size(); ++i) {
      if (task_.state[i].names.empty()) {
        throw InputError(
            "export: forward uses a tensor that no attribute of the model holds: assign it to "
            "self, or register it as a buffer");
      }
      const std::string& qualified = task_.state[i].names[0];
      const std::string name = "p" + std::to_string(i);
      find_state_ += "            " + name + " = " + attribute_path(qualified) + "\n";
      // All of it: a batch norm writes its statistics without a new version, and counts its calls.
      if (asks_state_) versioned_.push_back(name);
      state_.push_back({name, qualified});
      guard(task_.forward.inputs[i], name, qualified);
    }
    find_state_ += memory_.ties("            ");
    for (const MemoryGuard::Tie& tie : memory_.all_ties()) {
      state_.push_back({tie.name, tie.qualified});
    }
    for (const MemoryGuard::Tie& tie : memory_.tied_tables()) versioned_.push_back(tie.name);
  }

  // Tensors among the arguments, and what must hold of the rest.
  void name_arguments() {
    const std::vector<ValueId>& inputs = task_.forward.inputs;
    const size_t first = task_.state.size() + task_.derive.outputs.size();
    std::vector<std::string> leaves(inputs.size() - first);
    for (size_t k = 0; k < task_.arguments.size(); ++k) {
      argument_leaves(task_.arguments[k], argument(k), leaves, checks_);
    }
    for (size_t k = 0; k < leaves.size(); ++k) {
      if (leaves[k].empty()) throw InputError("export: no argument holds an input of forward");
      const std::string parameter = parameter_of(leaves[k], k);
      const std::string name = parameter.empty() ? "x" + std::to_string(k) : parameter + "_";
      bind_arguments_ += "        " + name + " = " + leaves[k] + "\n";
      arguments_ += (k ? ", " : "") + name;
      guard(inputs[first + k], name, parameter.empty() ? leaves[k] : parameter);
    }
    tell_apart(leaves);
  }

  // Python can ask whether two arguments are one.
  void tell_apart(const std::vector<std::string>& leaves) {
    if (leaves.size() < 2) return;
    std::string ids;
    for (const std::string& leaf : leaves) ids += (ids.empty() ? "id(" : ", id(") + leaf + ")";
    checks_.push_back("len({" + ids + "}) == " + std::to_string(leaves.size()));
  }

  // The parameter that the tensor of leaf `k` is given as; empty for a part of one, and for a name
  // that the steps cannot use.
  std::string parameter_of(const std::string& leaf, size_t k) const {
    const std::vector<std::string>& parameters = task_.source.parameters;
    const bool plain = leaf == argument(k) && k < parameters.size() &&
                       is_identifier(parameters[k]) && is_word(parameters[k]) &&
                       !parameters[k].starts_with("_kw") &&
                       std::count(parameters.begin(), parameters.end(), parameters[k]) == 1;
    return plain ? parameters[k] : "";
  }

  // The names of the recorded arguments, as a tuple; empty where forward does not name them all.
  std::string keywords() const {
    const size_t count = task_.arguments.size();
    const std::vector<std::string>& all = task_.source.parameters;
    if (count == 0 || all.size() < count) return "";
    const std::vector<std::string> names(all.begin(), all.begin() + static_cast<long>(count));
    const bool words = std::ranges::all_of(names, [](const auto& name) { return is_word(name); });
    if (!words || std::set<std::string>(names.begin(), names.end()).size() != count) return "";
    std::string out = "(";
    for (const std::string& name : names) out += python_string(name) + ", ";
    return out + ")";
  }

  static std::string argument(size_t k) { return "args[" + std::to_string(k) + "]"; }

  // `called` is what warnings call the tensor.
  void guard(ValueId id, const std::string& name, const std::string& called) {
    forward_.name(id, name);
    guarded_ += name + ", ";
    expected_ += "        " + expectation(called, task_.forward.values[id]) + ",\n";
  }

  // _kw_paths: to the state, by its names. _kw_modules: what forward was told by modules.
  std::string paths() const {
    std::string out;
    for (const auto& [name, qualified] : state_) {
      out += "        (" + attribute_keys(qualified) + "),\n";
    }
    return "    _kw_paths = (\n" + out + "    )\n" + module_rows(task_.source);
  }

  // _kw_derived(): what depends on the state alone, or None if a premise does not hold.
  std::string derived() {
    StepWriter pack = exported(task_, task_.derive);
    pack.launch_by(launches_, "None");
    std::string held, key, packed;
    for (const std::string& name : versioned_) {
      held += name + ", " + name + ".detach(), ";
      key += "(id(" + name + "), " + name + "._version, " + name + ".untyped_storage()._cdata, " +
             name + ".storage_offset()), ";
    }
    for (size_t i = 0; i < task_.state.size(); ++i) {
      pack.name(task_.derive.inputs[i], "p" + std::to_string(i));
    }
    const std::string premises = premise_condition();
    const std::string indent = premises.empty() ? "            " : "                ";
    std::string made = pack.steps(indent);
    for (ValueId id : task_.derive.outputs) packed += pack.name(id) + ", ";
    made += indent + "tensors = (" + packed + ")\n";
    if (!premises.empty())
      made = "            tensors = None\n            if " + premises + ":\n" + made;
    return "    def _kw_derived(self" + listed(versioned_, ", ") + "):\n        \"\"\"" +
           std::string(premises.empty()
                           ? "Tensors that depend on the parameters alone, made again when "
                             "those change."
                           : "Tensors that depend on the parameters alone, made again when "
                             "those change. None\n        if a table is not what the "
                             "constructor makes.") +
           R"py("""
)py" + "        try:\n            key = (" +
           key + R"py()
        except RuntimeError:  # inference tensors count no versions
            key = object()
        made = self.__dict__.get("_kw_made")
        if made is None or made.key != key:
)py" + made +
           R"py(            # Those that are held keep their ids and addresses.
            made = self.__dict__["_kw_made"] = _kw_Made(key, tensors, ()py" +
           held + R"py())
        return made.tensors

)py";
  }

  // Each name after `before`.
  static std::string listed(const std::vector<std::string>& names, const std::string& before) {
    std::string out;
    for (const std::string& name : names) out += before + name;
    return out;
  }
  static std::string tuple(const std::vector<std::string>& names) {
    std::string out = "(";
    for (const std::string& name : names) out += name + ", ";
    return out + ")";
  }

  // Whether each premise holds, in Python.
  std::string premise_condition() const {
    std::string tables;
    for (size_t i = 0; i < task_.state.size(); ++i) {
      if (task_.state[i].premise) tables += "p" + std::to_string(i) + ", ";
    }
    if (tables.empty()) return "";
    std::string out = "_kw_are_tables((" + tables + "))";
    for (const MemoryGuard::Tie& tie : memory_.tied_tables()) {
      const std::string& other = forward_.name(tie.value);
      out += " and (" + tie.name + " is " + other + " or torch.equal(" + tie.name + ", " + other +
             "))";
    }
    return out;
  }

  // _kw_bind(): finds the state, which may have been changed since the model was constructed, and
  // judges the call.
  std::string bind() const {
    std::string find = find_state_;
    if (!task_.source.modules.empty()) {
      find += "            why = _kw_change(self, self._kw_modules)\n";
    }
    std::string out = "    def _kw_bind(self" + (arguments_.empty() ? "" : ", " + arguments_) +
                      "):\n        \"\"\"What forward takes from the model. If the steps are not "
                      "for this call: why, as a text.\"\"\"\n";
    if (!find.empty()) {
      out += "        try:\n" + find +
             "        except (AttributeError, LookupError, TypeError):  # part of the model is "
             "gone\n            return \"" +
             kGone + "\"\n";
    }
    const std::string misfit = "_kw_misfit((" + guarded_ + "), self._kw_expected)";
    out +=
        "        why = " + std::string(task_.source.modules.empty() ? "" : "why or ") + misfit +
        "\n        if why:\n" +
        (asks_state_ ? "            if \"_kw_bound\" not in self.__dict__:  # old weights may go\n"
                       "                self.__dict__.pop(\"_kw_made\", None)\n"
                     : "") +
        "            return why\n";
    if (const std::string names = memory_.names_differ(forward_); !names.empty()) {
      out += returns_if(names, kMemory);
    }
    if (!memory_.asks_arguments()) {
      if (const std::string places = memory_.places_differ(forward_); !places.empty()) {
        out += returns_if(places, kMemory);
      }
    }
    if (asks_state_) {
      out += "        derived = self._kw_derived(" + tuple(versioned_).substr(1) + "\n" +
             returns_if("derived is None", kTables);
    }
    std::vector<std::string> names;
    for (const auto& [name, qualified] : state_) names.push_back(name);
    std::string given;
    for (size_t i = 0; i < task_.state.size(); ++i) given += "p" + std::to_string(i) + ", ";
    if (asks_state_) given += "*derived, ";
    return out + "        return _kw_Bound.call(self, (" + given + "), " + tuple(names) + ", " +
           tuple(versioned_) + ", (" + arguments_ + (arguments_.empty() ? "" : ", ") + "))\n";
  }

  // _kw_steps(): the program.
  std::string steps() {
    std::string results;
    for (size_t i = 0; i < task_.state.size(); ++i) taken_ += "p" + std::to_string(i) + ", ";
    for (size_t k = 0; k < task_.derive.outputs.size(); ++k) {
      const std::string name = "d" + std::to_string(k);
      forward_.name(task_.forward.inputs[task_.state.size() + k], name);
      taken_ += name + ", ";
    }
    std::string out = "    @staticmethod\n    def _kw_steps(tensors, where" +
                      (arguments_.empty() ? "" : ", " + arguments_) + "):\n";
    if (!taken_.empty()) out += "        (" + taken_ + ") = tensors\n";
    out += forward_.steps("        ");
    for (ValueId id : task_.forward.outputs) results += forward_.name(id) + ", ";
    return out + "        return (" + results + ")\n";
  }

  // The body of forward(). Its results are named by steps().
  std::string forward() {
    std::string condition = "kwargs or len(args) != " + std::to_string(task_.arguments.size());
    for (const std::string& check : checks_) condition += " or not (" + check + ")";
    const std::string given = arguments_.empty() ? "" : ", " + arguments_;
    std::string out = "    def forward(self, *args, **kwargs):\n";
    if (const std::string names = keywords(); !names.empty()) {
      out += "        if kwargs:\n            args, kwargs = _kw_placed(args, kwargs, " + names +
             ")\n";
    }
    out += original_if(condition, "\"" + std::string(kArguments) + "\"") + bind_arguments_ +
           R"py(        bound, call = self.__dict__.get("_kw_bound"), None
        if bound is not None and not torch.compiler.is_compiling():
            call = bound.known(self)py" +
           given + R"py()
        if call is None:
            call = self._kw_bind()py" +
           arguments_ + ")\n" + original_if("isinstance(call, str)", "call", "            ");
    if (memory_.asks_arguments()) {
      if (!taken_.empty()) out += "        (" + taken_ + ") = call.tensors\n";
      out += original_if(memory_.places_differ(forward_), "\"" + std::string(kMemory) + "\"");
    }
    std::string results;
    std::set<std::string> named;
    for (ValueId id : task_.forward.outputs) {
      const std::string& name = forward_.name(id);
      results += (named.insert(name).second ? name : "_") + ", ";
    }
    out += "        " + (results.empty() ? "" : "(" + results + ") = ") + "call.run(self" + given +
           ")\n";
    return out + "        return " + forward_.result(task_.result) + "\n";
  }

  static std::string returns_if(const std::string& condition, const char* why) {
    return "        if " + condition + ":\n            return \"" + why + "\"\n";
  }
  static std::string original_if(const std::string& condition, const std::string& why,
                                 const std::string& indent = "        ") {
    return indent + "if " + condition + ":\n" + indent +
           "    return self._kw_original(args, kwargs, " + why + ")\n";
  }

  struct Named {
    std::string name, qualified;
  };

  const Task& task_;
  StepWriter forward_;
  MemoryGuard memory_;
  std::vector<std::string> launches_;   // arguments of the objects _kw_launch_0, _kw_launch_1, ...
  std::vector<Named> state_;            // the state's tensors, and further names
  std::vector<std::string> versioned_;  // names of those whose contents matter before a call
  std::string arguments_;               // names of the arguments' tensors
  std::string taken_;                   // names of what the steps take from the model
  std::string find_state_, bind_arguments_;  // statements that name what forward's inputs are
  std::string guarded_, expected_;           // names of tensors, what they must be
  std::vector<std::string> checks_;          // conditions on the other arguments
  std::string no_graph_;     // why there may be no CUDA graph; empty where there may be
  bool asks_state_ = false;  // whether something is derived from the state, or asked of it alone
};

}  // namespace

std::string export_python(const Task& original, const std::string& user_source) {
  check_reference(user_source);
  Task task = canonical(original);
  SliceWriter slices(user_source);
  for (Kernel& kernel : task.kernels) slices.add(kernel);
  ModuleWriter writer(task);
  const std::string module = writer.text();
  return user_source + (user_source.ends_with("\n") ? "" : "\n") +
         "\n\n# ---- Written by Kernelwright. Needs torch and triton, and what the model imports. "
         "----\n" +
         R"py(import ctypes as _kw_ctypes
import enum as _kw_enum
import functools as _kw_functools
import gc as _kw_gc
import operator as _kw_operator
import threading as _kw_threading
import time as _kw_time
import torch
import triton as _kw_triton
import types as _kw_types
import warnings as _kw_warnings
import weakref as _kw_weakref
)py" +
         (takes_descriptors(task) ? "import triton.tools.tensor_descriptor as _kw_descriptors\n"
                                  : "") +
         slices.text() + device_names() + misfit_function(task) + writer.helpers() + "\n\n" +
         module;
}

}  // namespace kw
