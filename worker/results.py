"""What may be the result of a forward: containers and objects that hold tensors, and make none when somebody looks."""

import collections
import dataclasses
import inspect

import torch

# Ways in which an object can say itself what it holds.
_READS = ("__getattribute__", "__getattr__", "__getitem__", "__iter__", "__len__", "__contains__",
          "__reversed__", "items", "keys", "values", "get", "__missing__")
_CONTAINERS = (list, tuple, dict, collections.OrderedDict, collections.defaultdict, torch.Size)
_TUPLE_FIELD = type(inspect.getattr_static(collections.namedtuple("_", "field"), "field"))


def is_plain(value):
    """Whether a container or a dataclass holds what its kind does, and nothing that is made when
    somebody looks."""
    kind = type(value)
    if kind in _CONTAINERS or getattr(torch.return_types, kind.__name__, None) is kind:
        return True
    base = next((c for c in (tuple, list, dict) if isinstance(value, c)), object)
    if base is dict and dataclasses.is_dataclass(kind):
        return _items_are_fields(value)
    if base is object and not dataclasses.is_dataclass(kind):
        return True  # no container: whether it can be a result is another question
    if any(getattr(kind, name, None) is not getattr(base, name, None) for name in _READS):
        return False
    if base is tuple and hasattr(kind, "_fields"):
        return all(isinstance(inspect.getattr_static(kind, name, None), _TUPLE_FIELD)
                   for name in kind._fields)
    if base is not object:
        return dataclasses.is_dataclass(kind)
    slots = isinstance(getattr(kind, "__slots__", None), (tuple, list))
    return all(slots or not hasattr(getattr(kind, field.name, None), "__get__")
               for field in dataclasses.fields(kind))


def fields_of(value):
    """name -> value of an object that its class makes again of them: a dataclass or a named
    tuple."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        if all(field.init for field in fields):
            return {field.name: getattr(value, field.name) for field in fields}
    if isinstance(value, tuple) and hasattr(type(value), "_fields"):
        return dict(zip(type(value)._fields, value))
    return None


def _items_are_fields(value):
    """Whether an object that is a dict and a dataclass holds its fields under their names, and nothing else. What it
    gives by other ways, such as positions, its class makes of these."""
    kind, held = type(value), vars(value)
    names = [field.name for field in dataclasses.fields(kind)]
    if any(hasattr(getattr(kind, name, None), "__get__") for name in names) \
            or kind.__getattribute__ not in (object.__getattribute__, dict.__getattribute__,
                                             collections.OrderedDict.__getattribute__):
        return False
    items = dict(dict.items(value))
    given = {name: held[name] for name in names if held.get(name) is not None}
    return items.keys() <= given.keys() | {name for name in names if held.get(name) is None} \
        and all(items.get(name) is field for name, field in given.items())
