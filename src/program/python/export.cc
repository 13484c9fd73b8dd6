#include "program/python/export.h"

#include <algorithm>

#include "formats/base/error.h"
#include "program/checked/checked_names.h"
#include "program/checked/checked_text.h"
#include "program/checked/slice_writer.h"
#include "program/python/call_conditions.h"
#include "program/python/memory_guard.h"
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
constexpr const char* kModes = "a module is in another mode (train or eval) than recorded";
constexpr const char* kTensors =
    "a tensor has another shape, dtype, layout or device than recorded, this is another kind of "
    "GPU, or autocast, gradients (no torch.no_grad()) or function transforms are on";
constexpr const char* kMemory = "tensors share memory otherwise than recorded";
constexpr const char* kTables = "a table of the model was changed";

// The class: each part is some lines of it.
class ModuleWriter {
 public:
  explicit ModuleWriter(const Task& task)
      : task_(task), forward_(exported(task, task.forward)), memory_(task) {
    name_state();
    name_arguments();
    asks_state_ = !task_.derive.outputs.empty() ||
                  std::ranges::any_of(task_.state, [](const StateEntry& e) { return e.premise; });
  }

  std::string text() {
    const std::string& cls = checked_base(task_.source.cls);
    std::string out = "class ModelNew(" + cls + "):\n    \"\"\"" + cls;
    out +=
        R"py( with its forward replaced by the steps below. Parameters, buffers and state_dict keys
    are the original's. Other shapes, dtypes or layouts, and calls that want gradients, run the
    original forward."""

    _kw_expected = (
)py";
    out += expected_ + "    )\n" + memory_.attribute() + "\n";
    if (asks_state_) out += derived();
    out += R"py(    def _kw_original(self, args, kwargs, why):
        if not self.__dict__.get("_kw_warned"):
            self.__dict__["_kw_warned"] = True
            _kw_warnings.warn("ModelNew: running the original forward, because " + why)
        return super().forward(*args, **kwargs)

    def forward(self, *args, **kwargs):
)py";
    return out + forward();
  }

  // What the class uses: a function that lays tensors out, what is made once, and tables.
  std::string helpers() const {
    const Program premises = premises_of(task_);
    std::string out;
    for (const Program* program : {&task_.forward, &task_.derive, &premises}) {
      if (out.empty()) out = exported(task_, *program).helper();
    }
    out += memory_.functions();
    if (asks_state_) out += made_class();
    return premises.outputs.empty() ? out : out + tables_function(task_, premises);
  }

 private:
  // Attribute paths of the state and names for it: p0, p1, ...
  void name_state() {
    for (size_t i = 0; i < task_.state.size(); ++i) {
      if (task_.state[i].names.empty()) {
        throw InputError("export: the model keeps a tensor that no attribute path reaches");
      }
      const std::string name = "p" + std::to_string(i);
      bind_state_ += "            " + name + " = " + attribute_path(task_.state[i].names[0]) + "\n";
      state_ += (i ? ", " : "") + name;
      guard(task_.forward.inputs[i], name);
    }
    for (const MemoryGuard::Tie& tie : memory_.tied_tables()) state_ += ", " + tie.name;
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
      const std::string name = local_name(k, leaves[k] == argument(k));
      bind_arguments_ += "        " + name + " = " + leaves[k] + "\n";
      guard(inputs[first + k], name);
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

  // What the tensor of leaf `k` is called: after its parameter where it is one.
  std::string local_name(size_t k, bool is_argument) {
    const std::vector<std::string>& parameters = task_.source.parameters;
    const bool plain = is_argument && k < parameters.size() && is_identifier(parameters[k]) &&
                       is_word(parameters[k]) && !parameters[k].starts_with("_kw") &&
                       std::count(parameters.begin(), parameters.end(), parameters[k]) == 1;
    return plain ? parameters[k] + "_" : "x" + std::to_string(k);
  }

  static std::string argument(size_t k) { return "args[" + std::to_string(k) + "]"; }

  void guard(ValueId id, const std::string& name) {
    forward_.name(id, name);
    guarded_ += name + ", ";
    expected_ += "        " + expectation(task_.forward.values[id]) + ",\n";
  }

  // _kw_derived(): what depends on the state alone, or None if a premise does not hold.
  std::string derived() {
    StepWriter pack = exported(task_, task_.derive);
    std::string held, key, packed;
    const auto watch = [&](const std::string& name) {
      held += name + ", " + name + ".detach(), ";
      key += "(id(" + name + "), " + name + "._version, " + name + ".untyped_storage()._cdata, " +
             name + ".storage_offset()), ";
    };
    for (size_t i = 0; i < task_.state.size(); ++i) {
      pack.name(task_.derive.inputs[i], "p" + std::to_string(i));
      watch("p" + std::to_string(i));
    }
    for (const MemoryGuard::Tie& tie : memory_.tied_tables()) watch(tie.name);
    const std::string premises = premise_condition();
    const std::string indent = premises.empty() ? "            " : "                ";
    std::string made = pack.steps(indent);
    for (ValueId id : task_.derive.outputs) packed += pack.name(id) + ", ";
    made += indent + "tensors = (" + packed + ")\n";
    if (!premises.empty())
      made = "            tensors = None\n            if " + premises + ":\n" + made;
    return "    def _kw_derived(self, " + state_ + "):\n        \"\"\"" +
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

  // The body of forward().
  std::string forward() {
    std::string condition = "kwargs or len(args) != " + std::to_string(task_.arguments.size());
    for (const std::string& check : checks_) condition += " or not (" + check + ")";
    std::string bind_derived;
    for (size_t k = 0; k < task_.derive.outputs.size(); ++k) {
      const std::string name = "d" + std::to_string(k);
      forward_.name(task_.forward.inputs[task_.state.size() + k], name);
      bind_derived += name + ", ";
    }
    if (!bind_derived.empty()) {
      bind_derived.resize(bind_derived.size() - 1);
      bind_derived = "        " + bind_derived + " = derived\n";
    }
    std::string out =
        original_if(condition, kArguments) + look_up() + bind_arguments_ +
        original_if("not _kw_matches((" + guarded_ + "), self._kw_expected)", kTensors);
    if (const std::string other = memory_.differs(forward_); !other.empty()) {
      out += original_if(other, kMemory);
    }
    if (asks_state_) {
      out += "        derived = self._kw_derived(" + state_ + ")\n" +
             original_if("derived is None", kTables);
    }
    out += bind_derived + forward_.steps("        ");
    return out + "        return " + forward_.result(task_.result) + "\n";
  }

  // Finds the state, which may have been changed since the model was constructed.
  std::string look_up() const {
    std::string read, recorded;
    for (const auto& [path, training] : task_.source.modes) {
      read += attribute_path(path) + ".training, ";
      recorded += training ? "True, " : "False, ";
    }
    std::string body = bind_state_ + memory_.ties("            ");
    if (!read.empty()) body += "            modes = (" + read + ")\n";
    if (body.empty()) return "";
    return "        try:\n" + body +
           "        except (AttributeError, LookupError, TypeError):  # part of the model is gone\n"
           "    " +
           original(kGone) +
           (read.empty() ? "" : original_if("modes != (" + recorded + ")", kModes));
  }

  static std::string original_if(const std::string& condition, const char* why) {
    return "        if " + condition + ":\n    " + original(why);
  }
  static std::string original(const char* why) {
    return "        return self._kw_original(args, kwargs, \"" + std::string(why) + "\")\n";
  }

  const Task& task_;
  StepWriter forward_;
  MemoryGuard memory_;
  std::string state_;                        // names of the state's tensors
  std::string bind_state_, bind_arguments_;  // statements that name what forward's inputs are
  std::string guarded_, expected_;           // names of tensors, what they must be
  std::vector<std::string> checks_;          // conditions on the other arguments
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
         "import torch\nimport triton as _kw_triton\nimport warnings as _kw_warnings\n" +
         (takes_descriptors(task) ? "import triton.tools.tensor_descriptor as _kw_descriptors\n"
                                  : "") +
         slices.text() + device_names() + matches_function(task) + writer.helpers() + "\n\n" +
         module;
}

}  // namespace kw
