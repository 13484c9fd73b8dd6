"""The classes that a file sees: its tensors are fake, and their class is torch.Tensor all the same."""

import builtins
import types

import torch
from torch._subclasses.fake_tensor import FakeTensor


def seen_class(value):
    """The class that an object has where tensors are real."""
    kind = type(value)
    if kind is FakeTensor:
        return torch.nn.Parameter if getattr(value, "_is_param", False) else torch.Tensor
    return Type if kind is type else kind


class _KindOfType(type):
    """The class of `type` as the file sees it."""

    def __call__(cls, *args, **kwargs):
        if cls is not Type:
            return super().__call__(*args, **kwargs)
        return seen_class(args[0]) if len(args) == 1 and not kwargs else type(*args, **kwargs)

    def __instancecheck__(cls, value):
        return isinstance(value, type) if cls is Type else super().__instancecheck__(value)

    def __subclasscheck__(cls, value):
        return issubclass(value, type) if cls is Type else super().__subclasscheck__(value)


class Type(type, metaclass=_KindOfType):
    """`type` as the file sees it: files ask whether type(x) is torch.Tensor."""

    __class_getitem__ = classmethod(types.GenericAlias)


def file_builtins():
    """Returns the builtins of the file."""
    return {**vars(builtins), "type": Type}
