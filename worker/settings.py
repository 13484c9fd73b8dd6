"""What a forward is told by the modules of its model: their classes and parts, and the plain values that it reads."""

import functools
import inspect
import re

import torch

from plain_values import literal

_OF_EVERY_MODULE = set(vars(torch.nn.Module())) - {"training"}
_MISSING = object()


class SettingReads:
    """Notes the plain attributes of the model's modules that are read meanwhile and stay as they are, and those that
    are asked for in vain.

    `modules`: those of the model, itself first, each with its paths. `containers`: lists, tuples and dicts that hold
    modules or tensors, each with its path. `own`: what the model's file defines, by name. Attributes that are read
    through a module's dictionary are not seen, and neither are those that a class computes.
    """

    watching = None

    def __init__(self, modules, containers=(), own=None):
        self.modules = [(module, paths) for module, paths in modules if not _is_hidden(paths[0])]
        self.containers = [container for container in containers if not _is_hidden(container[1])]
        self.own = own
        self.told = self._descriptions()  # before forward adds to it
        self.read = {}  # (id of the module, name) -> value; _MISSING for what there is not
        self.written = set()  # the same keys: those that forward sets before it reads them
        self._of_classes = []  # what was there: class, name, value

    def __enter__(self):
        names = {}  # of each class; the classes of a model are few
        for module, _ in self.modules:
            of_class = names.setdefault(type(module), set())
            of_class.update(name for name, value in vars(module).items()
                            if name not in _OF_EVERY_MODULE and self.is_plain(value))
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

    def is_plain(self, value):
        try:
            literal(value, self.own)
        except TypeError:
            return False
        return True

    def described(self):
        """{path: {"class", "parts", "hooks", "hiding", "settings", "absent"}} (docs/formats/task.md)."""
        out, of_module = {}, {}
        for (owner, name), value in self.read.items():
            if not name.startswith("__") and (owner, name) not in self.written:
                of_module.setdefault(owner, []).append((name, value))
        told = [_unchanged(before, after) for before, after in zip(self.told, self._descriptions())]
        for (module, paths), description in zip(self.modules, told):
            settings, absent = {}, []
            for name, value in of_module.get(id(module), ()):
                if value is _MISSING:
                    absent += [] if hasattr(module, name) else [name]
                elif _now(module, name) is value and not _is_of_model(module, value, paths):
                    settings[name] = literal(value, self.own)
            out.update(dict.fromkeys(paths, {**description, "settings": settings, "absent": sorted(absent)}))
        for (_, path), description in zip(self.containers, told[len(self.modules):]):
            if description["parts"] is not None:  # or forward changes it
                out[path] = {**description, "settings": {}, "absent": []}
        return out

    def _descriptions(self):
        return ([_of_module(module) for module, _ in self.modules]
                + [_of_container(container) for container, _ in self.containers])


def _class_name(cls):
    return cls.__module__ + "." + cls.__qualname__ if cls.__module__.startswith("torch.") else cls.__qualname__


def _of_module(module):
    """Its class, the names of its modules and tensors, how many hooks it has, and its attributes that hide one of its
    class, such as a forward. What a cached property found is not hidden, and neither is compile()."""
    cls = type(module)
    hiding = [name for name in vars(module) if hasattr(cls, name) and name != "_compiled_call_impl"
              and not isinstance(getattr(cls, name), functools.cached_property)]
    return {"class": _class_name(cls), "parts": [*module._modules, *module._parameters, *module._buffers],
            "hooks": len(module._forward_hooks) + len(module._forward_pre_hooks), "hiding": sorted(hiding)}


def _of_container(container):
    parts = map(repr, container if isinstance(container, dict) else range(len(container)))
    return {"class": _class_name(type(container)), "parts": list(parts), "hooks": 0, "hiding": []}


def _unchanged(before, after):
    """A description without what forward changes: after a call of the original, it is another one."""
    return {**before, **{key: None for key in ("parts", "hiding") if before[key] != after[key]}}


class _Watched:
    """A plain attribute, which lies in the dictionaries of modules as ever."""

    def __init__(self, reads, name, inherited):
        self.reads, self.name, self.inherited = reads, name, inherited

    def __get__(self, module, kind=None):
        if module is not None and self.name in module.__dict__:
            value = module.__dict__[self.name]
            if self.reads.is_plain(value):
                self.reads.read.setdefault((id(module), self.name), value)
            return value
        if self.inherited is _MISSING:
            raise AttributeError(self.name)
        bind = getattr(type(self.inherited), "__get__", None)
        return bind(self.inherited, module, kind) if bind else self.inherited

    def __set__(self, module, value):
        if (id(module), self.name) not in self.reads.read:
            self.reads.written.add((id(module), self.name))
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


def _is_of_model(module, value, paths):
    """Where a model is, its tensors show. What its class is called is another text in an export."""
    if "" in paths and (value is type(module) or value in (type(module).__name__, type(module).__qualname__)):
        return True
    return type(value) is str and re.fullmatch(r"cpu|cuda(:\d+)?", value) is not None


def _is_hidden(path):
    return re.search(r"(^|\.)__", path) is not None
