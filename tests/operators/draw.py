"""Drawing calls of operators: tensors with shapes, dtypes and layouts, parameters from their domain.

An operator of the table is a name and a function from a Draw to the text of one call over the
arguments `a0`, `a1`, ... that it drew. The text is what a model's forward holds, so one case serves
the recorder, eager PyTorch and the teacher alike.
"""

import math
import random
import zlib
from dataclasses import dataclass, field

import torch

FLOATS = ("float32", "float16", "bfloat16")
NUMBERS = FLOATS + ("int64",)
ANY = NUMBERS + ("bool",)
OMIT = object()  # an argument left at its default


@dataclass
class Input:
    """One tensor argument. It looks at its own storage with any strides and offset."""
    shape: tuple
    dtype: str = "float32"
    strides: tuple = ()
    offset: int = 0
    values: str = "normal"  # or positive, unit, probability, special, index:N, distinct

    def span(self):
        if 0 in self.shape:
            return 0
        return 1 + self.offset + sum((n - 1) * s for n, s in zip(self.shape, self.strides))

    def metadata(self, storage):
        return {"dtype": self.dtype, "shape": list(self.shape), "strides": list(self.strides),
                "offset": self.offset, "storage": storage}

    def make(self, generator):
        flat = fill(self.span(), self.dtype, self.values, generator)
        return torch.as_strided(flat, self.shape, self.strides, self.offset)

    def is_contiguous(self):
        return self.strides == contiguous(self.shape) and self.offset == 0

    def source(self):
        """The same tensor as an expression of get_inputs()."""
        flat = "[%s]" % ", ".join(map(str, self.shape)) if self.is_contiguous() else str(self.span())
        dtype = "" if self.dtype == "float32" else ".to(torch.%s)" % self.dtype
        if self.values.startswith("index:"):
            text = "torch.randint(0, %s, %s)" % (self.values[6:], flat if flat[0] == "[" else
                                                 "[%s]" % flat)
            dtype = "" if self.dtype == "int64" else dtype
        elif self.dtype == "bool":
            text, dtype = "torch.rand(%s) < 0.5" % flat, ""
            text = "(%s)" % text
        elif not self.dtype.startswith(("float", "bfloat")):
            text = "torch.randint(-20, 20, %s)" % (flat if flat[0] == "[" else "[%s]" % flat)
            dtype = "" if self.dtype == "int64" else dtype
        elif self.values == "positive":
            text = "(torch.rand(%s) + 0.1)" % flat
        elif self.values in ("unit", "probability"):
            text = "torch.rand(%s)" % flat
        else:
            text = "torch.randn(%s)" % flat
        text += dtype
        if self.is_contiguous():
            return text
        return "torch.as_strided(%s, %s, %s, %d)" % (text, self.shape, self.strides, self.offset)


def fill(count, dtype, values, generator):
    kind = getattr(torch, dtype)
    if values.startswith("index:"):
        return torch.randint(0, max(int(values[6:]), 1), (count,), generator=generator).to(kind)
    if values == "distinct":
        return torch.randperm(count, generator=generator).to(kind)
    if dtype == "bool":
        return torch.rand(count, generator=generator) < 0.5
    if not kind.is_floating_point:
        low = 1 if values == "positive" else -20
        return torch.randint(low, 20, (count,), generator=generator).to(kind)
    if values in ("unit", "probability"):
        return torch.rand(count, generator=generator).to(kind)
    if values == "positive":
        return (torch.rand(count, generator=generator) + 0.1).to(kind)
    out = torch.randn(count, generator=generator)
    if values == "special" and count:
        for number in (math.inf, -math.inf, math.nan, 0.0, -0.0, 1e30, -30.0, 100.0):
            out[int(torch.randint(0, count, (), generator=generator))] = number
    return out.to(kind)


def contiguous(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


@dataclass
class Case:
    operator: str
    index: int
    call: str
    inputs: list
    parameters: dict = field(default_factory=dict)
    setup: str = ""  # statements before the call
    limit: float = 0  # how far a result may be off, in ulps of its largest; 0: the common rule

    def name(self):
        return "%s/%d" % (self.operator, self.index)

    def seed(self):
        return zlib.crc32(self.name().encode())

    def source(self, harness=False):
        """A model file whose forward is the call."""
        names = ", ".join("a%d" % i for i in range(len(self.inputs)))
        lines = [line for line in self.setup.splitlines()] + ["return " + self.call]
        text = ("import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n\n\n"
                "class Model(nn.Module):\n    def forward(self, %s):\n%s\n"
                % (names, "\n".join("        " + line for line in lines)))
        if harness:
            made = ",\n            ".join(spec.source() for spec in self.inputs)
            text += ("\n\ndef get_inputs():\n    return [%s]\n\n\ndef get_init_inputs():\n"
                     "    return []\n" % made)
        return text

    def tensors(self):
        generator = torch.Generator().manual_seed(self.seed())
        return [spec.make(generator) for spec in self.inputs]


def text(value):
    if isinstance(value, float) and not math.isfinite(value):
        return "float('%s')" % value
    if isinstance(value, Name):
        return str(value)
    if isinstance(value, (list, tuple)):
        inside = ", ".join(text(v) for v in value)
        if isinstance(value, list):
            return "[%s]" % inside
        return "(%s,)" % inside if len(value) == 1 else "(%s)" % inside
    return repr(value)


class Name(str):
    """Text that stands in a call as it is: an argument, a dtype."""


def call(function, *args, **kwargs):
    parts = [text(a) for a in args if a is not OMIT]
    parts += ["%s=%s" % (k, text(v)) for k, v in kwargs.items() if v is not OMIT]
    return Name("%s(%s)" % (function, ", ".join(parts)))


class Draw:
    """Random choices for one case. `edges`: also layouts, empty and zero-dimensional tensors and
    special values; without them, what a kernel writer is asked for."""

    def __init__(self, seed, edges=True, dtypes=None):
        self.rng = random.Random(seed)
        self.edges = edges
        self.dtypes = dtypes
        self.inputs = []
        self.parameters = {}
        self.setup = ""
        self.limit = 0
        self.kind = "plain"
        if edges:
            self.kind = self.rng.choices(("plain", "strided", "empty", "zero-dim", "special"),
                                         (55, 25, 6, 6, 8))[0]

    # -- parameters -----------------------------------------------------------------------------

    def option(self, name, *domain):
        """A value of a documented parameter; OMIT in the domain leaves it at its default."""
        value = self.rng.choice(domain)
        self.note(name, value)
        return value

    def note(self, name, value):
        self.parameters[name] = "default" if value is OMIT else text(value)

    def flag(self, name):
        return self.option(name, OMIT, True, False)

    def chance(self, share):
        return self.rng.random() < share

    def int(self, low, high):
        return self.rng.randint(low, high)

    # -- shapes and dtypes ----------------------------------------------------------------------

    def dtype(self, domain=NUMBERS):
        if self.dtypes:
            domain = [d for d in domain if d in self.dtypes] or domain
        weights = [6 if d == "float32" else 2 for d in domain]
        if not self.edges:
            weights = [14 if d == "float32" else 1 for d in domain]
            floats = [d in FLOATS for d in domain]
            if any(floats):
                weights = [w * f for w, f in zip(weights, floats)]
        value = self.rng.choices(list(domain), weights)[0]
        self.parameters["dtype of inputs"] = value
        return value

    def size(self):
        return self.rng.choice((1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 23, 32))

    def shape(self, low=1, high=4):
        """Sizes of a tensor of `low` to `high` dimensions, in all at most some ten thousand."""
        if self.kind == "zero-dim" and low <= 1:
            return ()
        rank = self.int(low, high)
        self.parameters["rank"] = rank
        while True:
            shape = [self.size() for _ in range(rank)]
            if self.kind != "empty" and math.prod(shape) == 1 and self.chance(0.8):
                continue
            if math.prod(shape) <= 20000:
                break
        if self.kind == "empty" and rank:
            shape[self.int(0, rank - 1)] = 0
        return tuple(shape)

    def broadcast(self, shape):
        """A shape that broadcasts to `shape`."""
        how = self.rng.choice(("same", "same", "ones", "fewer", "scalar"))
        self.parameters["broadcast"] = how
        if how == "ones":
            return tuple(1 if self.chance(0.5) else n for n in shape)
        if how == "fewer" and shape:
            return tuple(shape[self.int(0, len(shape) - 1):])
        return () if how == "scalar" else tuple(shape)

    def dim(self, rank):
        return self.int(-rank, rank - 1) if rank else self.rng.choice((0, -1))

    def dims(self, rank, most=None):
        """Some distinct dimensions, negative or not."""
        count = self.int(1, min(rank, most or rank)) if rank else 0
        chosen = self.rng.sample(range(rank), count)
        return tuple(d - rank if self.chance(0.3) else d for d in chosen)

    # -- tensors --------------------------------------------------------------------------------

    def tensor(self, shape, dtype="float32", values="normal", plain=False):
        """The name of a new argument. `plain`: always contiguous."""
        shape = tuple(shape)
        if values == "normal" and self.kind == "special" and dtype in FLOATS:
            values = "special"
        spec = Input(shape, dtype, contiguous(shape), 0, values)
        if self.kind == "strided" and not plain and self.chance(0.75):
            self._strided(spec)
        self.inputs.append(spec)
        return Name("a%d" % (len(self.inputs) - 1))

    def _strided(self, spec):
        shape, rank = spec.shape, len(spec.shape)
        how = self.rng.choice(("permuted", "stepped", "offset", "channels_last", "expanded"))
        if how == "expanded" and spec.values == "distinct":  # repeats are ties
            how = "permuted"
        order = list(range(rank))
        if how == "permuted" and rank > 1:
            self.rng.shuffle(order)
        elif how == "channels_last" and rank in (4, 5):
            order = [0, *range(2, rank), 1]
        padding = [0] * rank
        step = 1
        if how == "stepped" and rank:
            padding[self.int(0, rank - 1)] = self.int(1, 3)
            step = self.rng.choice((1, 2))
        strides = [0] * rank
        for d in reversed(order):
            strides[d] = step
            step *= max(shape[d], 1) + padding[d]
        if how == "expanded" and rank:
            strides[self.int(0, rank - 1)] = 0
        spec.strides = tuple(strides)
        spec.offset = self.rng.choice((1, 4, 16)) if how == "offset" else 0
        self.parameters["layout"] = how

    def index(self, shape, size, **kwargs):
        return self.tensor(shape, "int64", "index:%d" % max(size, 1), **kwargs)


@dataclass
class Operator:
    name: str
    draw: object
    parameters: tuple  # documented parameters, beyond shapes and dtypes
    csp: bool          # one of CSP-DAG's 61
    weight: float = 1  # share of cases

    def case(self, index, seed=0, edges=True, dtypes=None):
        draw = Draw("%s/%s/%d" % (seed, self.name, index), edges, dtypes)
        expression = str(self.draw(draw))
        return Case(self.name, index, expression, draw.inputs, draw.parameters, draw.setup,
                    draw.limit)


OPERATORS = {}


def operator(name, parameters="", csp=False, weight=1):
    def add(function):
        assert name not in OPERATORS, name
        OPERATORS[name] = Operator(name, function, tuple(parameters.split()), csp, weight)
        return function
    return add


def csp(name, parameters="", weight=1):
    return operator(name, parameters, True, weight)
