"""What stands for a value in a record is what an export finds for it."""

import enum
import functools
import math
import operator
import pathlib
import re
import types

import pytest
import torch

import plain_values

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
GUARD = re.search(r'R"py\((.*?)\)py"', (ROOT / "src/program/python/module_guard.cc").read_text(), re.S)[1]
FILE = """
def outer(n):
    if n:
        def inner(): pass
    else:
        def inner(): pass
    return inner

@functools.wraps(torch.relu)
def relu(x): pass

class Own(torch.autograd.Function):
    def method(self): pass

class Kind(enum.Enum):
    RED, BLUE = 1, 2

lambdas = (lambda a, b: a + b), (lambda a, b: a - b)
values = {
    "two of one name": (outer(0), outer(1)), "lambdas": lambdas, "wrapped": (relu, torch.relu),
    "compiled": (torch.compile(outer(1)), torch.compile(lambdas[0])), "scripted": (torch.jit.script(relu_of), relu_of),
    "applied": (Own.apply, torch.autograd.Function.apply), "methods": (Own.method, torch.Tensor.relu),
    "classes": (Own, Kind, torch.nn.ReLU), "enums": (Kind.RED, Kind.BLUE),
    "partial": (functools.partial(torch.add, 1, alpha=2), functools.partial(torch.add, 1, alpha=3)),
    "operators": (torch.ops.aten.relu, torch.ops.aten.relu.default, torch.ops.aten.tanh),
    "slices": (slice(4), slice(1, None, 2), range(4), range(5)), "numbers": (1j, 2.5, math.inf, True, 1),
    "kinds": (torch.float16, torch.channels_last, torch.strided), "numpy": (numpy.float64(2), numpy.float32(2), numpy.int64(2)),
    "others": (functools.wraps, operator.itemgetter, len, "".join, math.sin, operator.add, int, torch.Size([1]), "text"),
}
"""


def relu_of(x: torch.Tensor):
    return torch.relu(x)


@pytest.fixture(scope="module")
def of_export():
    names = {"torch": torch, "functools": functools, "_kw_functools": functools, "_kw_types": types, "_kw_enum": enum,
             "enum": enum, "math": math, "operator": operator, "numpy": pytest.importorskip("numpy"), "relu_of": relu_of}
    exec(compile(GUARD, "export.py", "exec"), names)
    exec(compile(FILE, "export.py", "exec"), names)
    return names


def recorded(value, own):
    """As a record and then an export has it."""
    def python(json):
        if isinstance(json, dict):
            return tuple(map(python, json["tuple"])) if "tuple" in json else float(json["f"])
        return json
    return python(plain_values.literal(value, own))


def test_an_export_finds_what_was_recorded(of_export):
    for kind, values in of_export["values"].items():
        texts = [recorded(value, of_export) for value in values]
        assert texts == [of_export["_kw_plain"](value) for value in values], kind
        same = {"scripted"}  # two of them are one function
        assert kind in same or len(set(map(repr, texts))) == len(texts), kind


@pytest.mark.parametrize("module", [torch, torch.nn, torch.nn.functional, torch.special, torch.linalg, math, operator])
def test_names_of_libraries(of_export, module):
    names = {}
    for name in filter(lambda name: name[0] != "_", dir(module)):
        value = getattr(module, name)
        if callable(value) and plain(value, of_export):
            assert of_export["_kw_plain"](value) == recorded(value, of_export), name
            names.setdefault(recorded(value, of_export), set()).add(id(value))
    assert len(names) > 30
    several = {name for name, found in names.items() if len(found) > 1}
    assert not several


def plain(value, own):
    try:
        plain_values.literal(value, own)
    except TypeError:
        return False
    return True


@pytest.mark.parametrize("value", [object(), [1], {"a": 1}, torch.ones(1), torch.nn.ReLU(), slice(torch.ones(1)), "a\n",
                                   "a" * 201, (0,) * 201, 1 << 63, functools.partial(torch.add, torch.ones(1))])
def test_what_is_no_plain_value(of_export, value):
    assert not plain(value, of_export)
    if not isinstance(value, (str, tuple, int)):
        of_export["_kw_plain"](value)  # whatever it finds, it does not fail
