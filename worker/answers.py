"""What a candidate's file is answered with in place of what Python would say: classes of objects,
formatted text, the environment (surroundings.py puts them where the file finds them).
"""

import collections.abc
import string
import types

import torch
from torch._subclasses.fake_tensor import FakeTensor

import host_code
import questions


def seen_class(value):
    """The class that an object would have in a user's process."""
    kind = type(value)
    if kind is type:
        return SeenType
    if kind is FakeTensor:
        return torch.nn.Parameter if getattr(value, "_is_param", False) else torch.Tensor
    return kind


class _Kind(type):
    """The class of the `type` that a file sees."""

    def __call__(cls, *args, **kwargs):
        if cls is SeenType and len(args) == 1 and not kwargs:
            SeenType.surroundings.check_kind(args[0])
            return seen_class(args[0])
        for name in host_code.METHODS.intersection(*[args[2]] if len(args) > 2 else [()]):
            SeenType.surroundings.refuse("the program defines %s" % name)
        return super().__call__(*args, **kwargs)

    def __instancecheck__(cls, value):
        return isinstance(value, type) if cls is SeenType else super().__instancecheck__(value)

    def __subclasscheck__(cls, value):
        return issubclass(value, type) if cls is SeenType else super().__subclasscheck__(value)


class SeenType(type, metaclass=_Kind):
    """`type` as the file sees it."""

    surroundings = None  # of the recording that is going on
    __class_getitem__ = classmethod(types.GenericAlias)


class SharedMemory:
    """torch._C, of which one question is allowed: whether two tensors share memory, which what
    `optimize` exports asks of its arguments."""

    _is_alias_of = staticmethod(torch._C._is_alias_of)


class OfClass:
    """An object of which nothing is known but its class."""

    def __init__(self, kind):
        self.kind = kind

    __class__ = property(lambda self: self.kind)


def is_text(owner):
    return isinstance(owner, (str, super)) or isinstance(owner, type) and issubclass(owner, str)


class Format:
    """str.format as the file sees it."""

    def __init__(self, surroundings, owner):
        self.formatter, self.owner = _Formatter(surroundings), owner

    def format(self, *args, **kwargs):
        text, args = (self.owner, args) if isinstance(self.owner, str) else (args[0], args[1:])
        return self.formatter.vformat(text, args, kwargs)

    def format_map(self, *args):
        text, mapping = (self.owner, *args) if isinstance(self.owner, str) else args
        return self.formatter.vformat(text, (), mapping)


class _Formatter(string.Formatter):
    """str.format, whose fields may read attributes."""

    def __init__(self, surroundings):
        self.surroundings = surroundings

    def get_field(self, field_name, args, kwargs):
        first, rest = string._string.formatter_field_name_split(field_name)
        value = self.get_value(first, args, kwargs)
        for is_attribute, name in rest:
            value = self.surroundings.getattr(value, name) if is_attribute else value[name]
        return value, first


class Environment(collections.abc.MutableMapping):
    """os.environ. The file finds in it what it put there itself, and nothing under other names, as
    most users would have nothing there; names that say something of the machine are refused."""

    def __init__(self, surroundings, real):
        self._surroundings, self._real = surroundings, real
        self._own = {}

    def _seen(self, name=None):
        """What the caller may look at."""
        if not self._surroundings.asked_by_file():
            return self._real
        if name is None or name not in self._own and (
                name in self._real or name.startswith(questions.VARIABLES)):
            self._surroundings.refuse("the program reads the environment" +
                                      (": " + name if name else ""))
        return self._own

    def __getitem__(self, name):
        return self._seen(name)[name]

    def __iter__(self):
        return iter(self._seen())

    def __len__(self):
        return len(self._seen())

    def __setitem__(self, name, value):
        self._own[name] = self._real[name] = value

    def __delitem__(self, name):
        self._own.pop(name, None)
        del self._real[name]

    def __repr__(self):
        return repr(self._seen())

    def copy(self):
        return dict(self)
