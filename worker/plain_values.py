"""Values that a record can hold: numbers, texts, None, tuples of these, and what goes by a name."""

import enum
import functools
import math
import os
import types

import torch

LONGEST = 200  # characters of a text, items of a tuple
_HERE = os.path.dirname(__file__)
_METHODS = types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType
_WRITTEN = range, complex, torch.dtype, torch.layout, torch.memory_format


def literal(value, own):
    """The value as docs/formats/task.md has settings; raises TypeError for what is none. `own`: what the model's
    file defines, by name."""
    if value is None or type(value) is bool or type(value) is int and abs(value) < 1 << 63:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"f": str(value)}
    items = _items(value)
    if items is not None and len(items) <= LONGEST:
        return {"tuple": [literal(item, own) for item in items]}
    text = value if type(value) is str else _name_of(value, own)
    if text is not None and len(text) <= LONGEST and text.isprintable():
        return text
    raise TypeError(type(value))


# An export has the same two functions: _kw_items and _kw_name_of in src/program/python/module_guard.cc.


def _items(value):
    """What a tuple, a slice or a partial function consists of."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, slice):
        return "<slice>", value.start, value.stop, value.step
    if isinstance(value, functools.partial):
        return "<partial>", value.func, value.args, *sorted(value.keywords.items())
    return None


def _name_of(value, own):
    """What stands for a function, class, dtype, member of an enum or number of NumPy; None for others. Functions of the
    model's file have their places in it, as there may be several of one name."""
    cls = type(value)
    if isinstance(value, types.FunctionType):
        value = getattr(value, "_torchdynamo_orig_callable", value)
    if isinstance(value, torch.jit.ScriptFunction):
        value = value._torchdynamo_inline
    if isinstance(value, types.MethodType):
        owner, function = value.__self__, value.__func__
        of_class = isinstance(owner, type)
        return "<%s.%s>" % (owner.__qualname__, function.__name__) if of_class else "<%s>" % function.__qualname__
    if isinstance(value, (types.FunctionType, type, *_METHODS)):
        name, code = value.__qualname__, getattr(value, "__code__", None)
        if code is not None and os.path.dirname(code.co_filename) == _HERE:
            return None  # a stand-in: an export finds what it stands for
        module = getattr(value, "__module__", None)
        if str(module).startswith("torch.") or module and isinstance(value, types.BuiltinFunctionType):
            name = module + "." + name
        if not name.endswith(value.__name__):
            name += " " + value.__name__
        if code is not None and value.__globals__ is own:
            name += " at line %d" % code.co_firstlineno
        if code is not None and value.__name__ == "<lambda>":
            places = code.co_positions() if hasattr(code, "co_positions") else ()
            name += ":%d of %s" % (max((place[2] or 0 for place in places), default=0), " ".join(code.co_names))
        return "<%s>" % name
    if isinstance(value, enum.Enum):
        return "<%s %s>" % (cls.__qualname__, value.name)
    if cls.__module__ == "numpy" and hasattr(value, "item") and not hasattr(value, "__len__"):
        return "<%s %r>" % (cls.__name__, value.item())
    return "<%s>" % value if isinstance(value, _WRITTEN) or cls.__module__ == "torch._ops" else None
