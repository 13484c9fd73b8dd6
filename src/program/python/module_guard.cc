#include "program/python/module_guard.h"

#include "formats/base/error.h"
#include "program/python/python_text.h"

namespace kw {
namespace {

std::string attribute(const std::string& name) {
  if (name.starts_with("__"))
    throw InputError("export: a module's attribute " + python_string(name) +
                     " begins with two underscores: call it otherwise");
  return python_string(name);
}

std::string setting(const Json& value) {
  if (!value.is_object() || value.contains("f")) return python_literal(value);
  if (!value.contains("tuple")) {
    throw InputError("export: no setting of a module: " + python_string(value.dump()));
  }
  std::string out = "(";
  for (const Json& item : value.at("tuple")) out += setting(item) + ", ";
  return out + ")";
}

std::string names_or_none(const std::optional<std::vector<std::string>>& names) {
  if (!names) return "None";
  std::string out = "(";
  for (const std::string& name : *names) out += python_string(name) + ", ";
  return out + ")";
}

std::string number_or_none(int n) { return n < 0 ? "None" : std::to_string(n); }

}  // namespace

// _kw_items and _kw_name_of do what worker/plain_values.py does while a model is recorded.
std::string change_function() {
  return R"py(

def _kw_items(value):
    """What a tuple, a slice or a partial function consists of."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, slice):
        return "<slice>", value.start, value.stop, value.step
    if isinstance(value, _kw_functools.partial):
        return "<partial>", value.func, value.args, *sorted(value.keywords.items())
    return None


def _kw_name_of(value):
    """What stands for a function, class, dtype, member of an enum or number of NumPy; None for others."""
    cls = type(value)
    if isinstance(value, _kw_types.FunctionType):
        value = getattr(value, "_torchdynamo_orig_callable", value)
    if isinstance(value, torch.jit.ScriptFunction):
        value = value._torchdynamo_inline
    if isinstance(value, _kw_types.MethodType):
        owner, function = value.__self__, value.__func__
        if isinstance(owner, type):
            return "<%s.%s>" % (owner.__qualname__, function.__name__)
        return "<%s>" % function.__qualname__
    methods = _kw_types.BuiltinFunctionType, _kw_types.MethodDescriptorType
    methods = *methods, _kw_types.WrapperDescriptorType
    if isinstance(value, (_kw_types.FunctionType, type, *methods)):
        name, code = value.__qualname__, getattr(value, "__code__", None)
        module = getattr(value, "__module__", None)
        if str(module).startswith("torch.") or module and isinstance(value, _kw_types.BuiltinFunctionType):
            name = module + "." + name
        if not name.endswith(value.__name__):
            name += " " + value.__name__
        if code is not None and value.__globals__ is globals():
            name += " at line %d" % code.co_firstlineno
        if code is not None and value.__name__ == "<lambda>":
            places = code.co_positions() if hasattr(code, "co_positions") else ()
            column = max((place[2] or 0 for place in places), default=0)
            name += ":%d of %s" % (column, " ".join(code.co_names))
        return "<%s>" % name
    if isinstance(value, _kw_enum.Enum):
        return "<%s %s>" % (cls.__qualname__, value.name)
    if cls.__module__ == "numpy" and hasattr(value, "item") and not hasattr(value, "__len__"):
        return "<%s %r>" % (cls.__name__, value.item())
    written = range, complex, torch.dtype, torch.layout, torch.memory_format
    return "<%s>" % value if isinstance(value, written) or cls.__module__ == "torch._ops" else None


def _kw_plain(value):
    """A setting of a module as it was recorded. The type of what is none."""
    items = _kw_items(value)
    if items is not None:
        return tuple(map(_kw_plain, items))
    if type(value) in (bool, int, float, str, type(None)):
        return value
    return _kw_name_of(value) or type(value)


def _kw_described(owner):
    """The names of what a module or a container holds, how many hooks it has, and its attributes that
    hide one of its class."""
    if isinstance(owner, (dict, list, tuple)):
        keys = owner if isinstance(owner, dict) else range(len(owner))
        return tuple(map(repr, keys)), 0, ()
    cls, cached = type(owner), _kw_functools.cached_property
    hiding = [
        name for name in vars(owner) if hasattr(cls, name) and name != "_compiled_call_impl"
        and not isinstance(getattr(cls, name), cached)
    ]
    hooks = len(owner._forward_hooks) + len(owner._forward_pre_hooks)
    parts = (*owner._modules, *owner._parameters, *owner._buffers)
    return parts, hooks, tuple(sorted(hiding))


def _kw_change(model, modules):
    """The first module that is another than recorded, as a text: of another class, with other modules
    in it or hooks on it, or with another value of an attribute that forward reads. None if there is
    none."""
    for path, kind, parts, hooks, hiding, settings in modules:
        owner = model
        for key in path:
            owner = owner[key] if isinstance(owner, (dict, list, tuple)) else getattr(owner, key)
        name = ".".join(map(str, ("the model", *path)))
        cls, scripted = type(owner), isinstance(owner, torch.jit.ScriptModule)
        of_torch = cls.__module__.startswith("torch.") and not scripted
        found = cls.__module__ + "." + cls.__qualname__ if of_torch else cls.__qualname__
        if scripted:
            found, kind = owner.original_name, kind and kind.rpartition(".")[-1]
        if kind is not None and found != kind:
            return "%s is a %s, and a %s was recorded" % (name, found, kind)
        if not scripted:  # what a scripted module consists of stays
            there, hooked, hides = _kw_described(owner)
            if parts is not None and there != parts:
                others = ", ".join(sorted(set(there) ^ set(parts))) or "their order"
                return "%s has other parts than recorded: %s" % (name, others)
            if hooks is not None and hooked != hooks:
                return "%s has %d hooks, and %d were recorded" % (name, hooked, hooks)
            if hiding is not None and hides != hiding:
                others = ", ".join(sorted(set(hides) ^ set(hiding)))
                return "%s has other attributes in place of its class's: %s" % (name, others)
        for key, *value in settings:
            if not value and not scripted and hasattr(owner, key):
                return "%s has an attribute %s, which was absent" % (name, key)
            found = _kw_plain(getattr(owner, key)) if value else None
            if value and repr(found) != repr(value[0]):
                return "%s.%s is %.200r, and %.200r was recorded" % (name, key, found, value[0])
    return None
)py";
}

std::string module_rows(const TaskSource& source) {
  std::string rows;
  for (const auto& [path, module] : source.modules) {
    const bool root = path.empty();  // has another class here, and its hooks run around forward
    std::string settings;
    for (const auto& [name, value] : module.settings) {
      settings += "(" + attribute(name) + ", " + setting(value) + "), ";
    }
    for (const std::string& name : module.absent) settings += "(" + attribute(name) + ", ), ";
    rows += "        ((" + attribute_keys(path) + "), " +
            (root || module.cls.empty() ? "None" : python_string(module.cls)) + ", " +
            names_or_none(module.parts) + ", " + number_or_none(root ? -1 : module.hooks) + ", " +
            names_or_none(module.hiding) + ", (" + settings + ")),\n";
  }
  return "    _kw_modules = (\n        # path, class, parts, hooks, hiding, attributes: values, or "
         "none if absent\n" +
         rows + "    )\n";
}

}  // namespace kw
