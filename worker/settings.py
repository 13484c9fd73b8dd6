"""What a forward is told by the modules of its model: their classes and parts, and the plain values that it reads."""

import enum
import inspect
import math
import os
import re
import types

import torch

_OF_EVERY_MODULE = set(vars(torch.nn.Module())) - {"training"}
_MISSING = object()
_HERE = os.path.dirname(__file__)
LONGEST = 200  # characters of a text, items of a tuple


def literal(value):
    """The value as docs/formats/task.md has constants; raises TypeError for what is none."""
    if value is None or type(value) is bool or type(value) is int and abs(value) < 1 << 63:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"f": str(value)}
    if type(value) in (tuple, torch.Size) and len(value) <= LONGEST:
        return {"tuple": [literal(item) for item in value]}
    text = value if type(value) is str else _named(value)
    if text is not None and len(text) <= LONGEST and text.isprintable():
        return text
    raise TypeError(type(value))


def _named(value):
    """What stands for a function, class, dtype, member of an enum or number of NumPy; None for others. An export finds
    the same (_kw_plain in src/program/python/host_path.cc). What a lambda is called does not tell it from another."""
    cls = type(value)
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
        if isinstance(value, types.FunctionType) and os.path.dirname(value.__code__.co_filename) == _HERE:
            return None  # a stand-in; an export finds what it stands for
        whole = value.__module__ + "." if str(value.__module__).startswith("torch.") else ""
        code = " of " + " ".join(value.__code__.co_names) if value.__name__ == "<lambda>" else ""
        return f"<{whole}{value.__qualname__} {value.__name__}{code}>"
    if isinstance(value, enum.Enum):
        return f"<{cls.__qualname__} {value.name}>"
    if cls.__module__ == "numpy" and hasattr(value, "item") and not hasattr(value, "__len__"):
        return f"<{cls.__name__} {value.item()!r}>"
    return f"<{value}>" if cls is torch.dtype else None


class SettingReads:
    """Notes the plain attributes of the model's modules that are read meanwhile and stay as they are, and those that
    are asked for in vain.

    `modules`: those of the model, each with its paths. `containers`: lists, tuples and dicts that hold modules or
    tensors, each with its path and length. Attributes that are read through a module's dictionary are not seen, and
    neither are those that a class computes.
    """

    watching = None

    def __init__(self, modules, containers=()):
        self.modules = [(module, paths) for module, paths in modules if not _is_hidden(paths[0])]
        self.containers = [container for container in containers if not _is_hidden(container[1])]
        self.told = [_description(module) for module, _ in self.modules]  # before forward adds to it
        self.read = {}  # (id of the module, name) -> value; _MISSING for what there is not
        self._of_classes = []  # what was there: class, name, value

    def __enter__(self):
        names = {}  # of each class; the classes of a model are few
        for module, _ in self.modules:
            of_class = names.setdefault(type(module), set())
            of_class.update(name for name, value in vars(module).items()
                            if name not in _OF_EVERY_MODULE and _is_plain(value))
        found = [(cls, name, inspect.getattr_static(cls, name, _MISSING))
                 for cls, of_class in names.items() for name in of_class]
        for cls, name, inherited in found:
            if hasattr(type(inherited), "__set__"):  # a property reads what it likes
                continue
            self._of_classes.append((cls, name, cls.__dict__.get(name, _MISSING)))
            setattr(cls, name, _Watched(self, name, inherited))
        SettingReads.watching = self
        return self

    def __exit__(self, *exception):
        SettingReads.watching = None
        for cls, name, value in reversed(self._of_classes):
            if value is _MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, value)

    def described(self):
        """{path: {"class", "parts", "hooks", "settings", "absent"}} (docs/formats/task.md)."""
        out, of_module = {}, {}
        for (owner, name), value in self.read.items():
            of_module.setdefault(owner, []).append((name, value))
        for (module, paths), told in zip(self.modules, self.told):
            settings, absent = {}, []
            for name, value in of_module.get(id(module), ()):
                if name.startswith("__") or _now(module, name) is not value:
                    continue
                if value is _MISSING:
                    absent.append(name)
                elif not _is_device(value):
                    settings[name] = literal(value)
            told = {**told, "settings": settings, **({"absent": sorted(absent)} if absent else {})}
            out.update(dict.fromkeys(paths, told))
        for container, path, length in self.containers:
            if len(container) == length:  # or forward changes it
                out[path] = {"class": type(container).__name__, "parts": length, "hooks": 0, "settings": {}}
        return out


def _description(module):
    """A name of its class, how many modules and tensors it has, and how many hooks: attributes that hide one of its
    class, such as a forward, count as hooks."""
    cls = type(module)
    named = cls.__module__ + "." + cls.__qualname__ if cls.__module__.startswith("torch.") else cls.__qualname__
    hidden = sum(hasattr(cls, name) for name in vars(module))
    return {"class": named, "parts": len(module._modules) + len(module._parameters) + len(module._buffers),
            "hooks": len(module._forward_hooks) + len(module._forward_pre_hooks) + hidden}


class _Watched:
    """A plain attribute, which lies in the dictionaries of modules as ever."""

    def __init__(self, reads, name, inherited):
        self.reads, self.name, self.inherited = reads, name, inherited

    def __get__(self, module, kind=None):
        if module is not None and self.name in module.__dict__:
            value = module.__dict__[self.name]
            if _is_plain(value):
                self.reads.read.setdefault((id(module), self.name), value)
            return value
        if self.inherited is _MISSING:
            raise AttributeError(self.name)
        bind = getattr(type(self.inherited), "__get__", None)
        return bind(self.inherited, module, kind) if bind else self.inherited

    def __set__(self, module, value):
        module.__dict__[self.name] = value

    def __delete__(self, module):
        if self.name not in module.__dict__:
            raise AttributeError(self.name)
        del module.__dict__[self.name]


def _noting(find):
    """Module.__getattr__ finds tensors and modules. It notes a name that is None, and one that there is not."""

    def __getattr__(self, name):
        watching = SettingReads.watching
        if watching is None:
            return find(self, name)
        try:
            value = find(self, name)
        except AttributeError:
            watching.read.setdefault((id(self), name), _MISSING)
            raise
        if value is None:
            watching.read.setdefault((id(self), name), None)
        return value

    return __getattr__


# Put in once and for all: to change a class that hundreds inherit from takes a while.
torch.nn.Module.__getattr__ = _noting(torch.nn.Module.__getattr__)


def _now(module, name):
    for table in (vars(module), module._parameters, module._buffers, module._modules):
        if name in table:
            return table[name]
    return _MISSING


def _is_plain(value):
    try:
        literal(value)
    except TypeError:
        return False
    return True


def _is_device(value):
    """Where a model is, the tensors show."""
    return type(value) is str and re.fullmatch(r"cpu|cuda(:\d+)?", value) is not None


def _is_hidden(path):
    return re.search(r"(^|\.)__", path) is not None
