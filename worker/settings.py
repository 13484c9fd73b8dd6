"""What a forward is told by the modules of its model: their classes and parts, and the plain values that it reads."""

import inspect
import math

import torch

_OF_EVERY_MODULE = set(vars(torch.nn.Module())) - {"training"}
_MISSING = object()
LONGEST = 200  # characters of a text, items of a tuple


def literal(value):
    """The value as docs/formats/task.md has constants; raises TypeError for what is none."""
    if value is None or type(value) is bool or type(value) is int and abs(value) < 1 << 63:
        return value
    if type(value) is float:
        return value if math.isfinite(value) else {"f": str(value)}
    if type(value) is str and len(value) <= LONGEST and value.isprintable():
        return value
    if type(value) in (tuple, torch.Size) and len(value) <= LONGEST:
        return {"tuple": [literal(item) for item in value]}
    raise TypeError(type(value))


class SettingReads:
    """Notes the plain attributes of the model's modules that are read meanwhile, and are not written.

    `modules`: those of the model, each with its paths. Attributes that are read through a module's dictionary are not
    seen, and neither are those that a class computes.
    """

    def __init__(self, modules):
        self.modules = modules
        self.read, self.written = {}, set()
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
        return self

    def __exit__(self, *exception):
        for cls, name, value in reversed(self._of_classes):
            if value is _MISSING:
                delattr(cls, name)
            else:
                setattr(cls, name, value)

    def described(self):
        """{path: {"class", "parts", "hooks", "settings"}} (docs/formats/task.md)."""
        settings = {}
        for (owner, name), value in self.read.items():
            if (owner, name) not in self.written:
                settings.setdefault(owner, {})[name] = value
        out = {}
        for module, paths in self.modules:
            absent = {name: None for table in (module._parameters, module._buffers, module._modules)
                      for name, part in table.items() if part is None}
            told = {"class": type(module).__name__, "parts": len(module._modules),
                    "hooks": len(module._forward_hooks) + len(module._forward_pre_hooks)
                    + ("forward" in vars(module)),
                    "settings": {**absent, **settings.get(id(module), {})}}
            out.update(dict.fromkeys(paths, told))
        return out


class _Watched:
    """A plain attribute, which lies in the dictionaries of modules as ever."""

    def __init__(self, reads, name, inherited):
        self.reads, self.name, self.inherited = reads, name, inherited

    def __get__(self, module, kind=None):
        if module is not None and self.name in module.__dict__:
            value = module.__dict__[self.name]
            if _is_plain(value):
                self.reads.read.setdefault((id(module), self.name), literal(value))
            return value
        if self.inherited is _MISSING:
            raise AttributeError(self.name)
        bind = getattr(type(self.inherited), "__get__", None)
        return bind(self.inherited, module, kind) if bind else self.inherited

    def __set__(self, module, value):
        self.reads.written.add((id(module), self.name))
        module.__dict__[self.name] = value

    def __delete__(self, module):
        if self.name not in module.__dict__:
            raise AttributeError(self.name)
        self.reads.written.add((id(module), self.name))
        del module.__dict__[self.name]


def _is_plain(value):
    try:
        literal(value)
    except TypeError:
        return False
    return True
