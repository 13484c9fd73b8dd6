"""Tapes: the operators and launches of one phase of a recording, as a Program.

A recording has one tape for each phase: construction, inputs, a warm-up call and the recorded call.
A tensor is known by what it looks at: its storage and its metadata. Two Python objects that look at
the same elements in the same way are the same value, so detach(), Parameter wrapping and other
bookkeeping of PyTorch leave no trace. Values point at each other through storages only, and are
numbered when a tape is written out.
"""

import math

DTYPES = {"float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8",
          "bool", "complex64", "complex128"}
MAX_CONSTANT = 4096  # elements of a constant tensor that a call makes
MAX_CONSTANT_BEFORE = 1 << 20  # the same before the first call: exports do not spell these out
# The reader of tasks (src/program) refuses larger tensors.
MAX_EXTENT = 1 << 40  # elements that a tensor spans
MAX_RANK = 16         # dimensions


def tensor_key(tensor):
    """Returns what memory the tensor shows, and how: (storage, dtype, shape, strides, offset)."""
    return (tensor.untyped_storage()._cdata, tensor.dtype, tuple(tensor.shape), tensor.stride(),
            tensor.storage_offset())


def spans_too_much(tensor):
    """Returns whether no memory could hold the tensor. Recording allocates nothing, and would not notice."""
    sizes, strides = tensor.shape, tensor.stride()
    last = tensor.storage_offset() + sum(max(n - 1, 0) * step for n, step in zip(sizes, strides))
    return max(last, math.prod(max(n, 1) for n in sizes), *strides, 0) > MAX_EXTENT


class Value:
    """A tensor at one moment. Compared by identity."""

    __slots__ = ("key",)

    def __init__(self, key):
        self.key = key

    @property
    def storage(self):
        return self.key[0]

    def to_json(self, storages):
        storage, dtype, shape, strides, offset = self.key
        return {"dtype": str(dtype)[6:], "shape": list(shape), "strides": list(strides),
                "offset": offset, "storage": storages.setdefault(storage, len(storages))}


class Call:
    """An operator call. Values are in `args` as Value objects, with lists nested as in the call."""

    def __init__(self, op, args, results, mutated):
        self.op, self.args, self.results, self.mutated = op, args, results, mutated

    def kind(self):
        return self.op

    def reads(self):
        yield from values_in(list(self.args.values()))

    def may_write(self):
        yield from self.mutated

    def to_json(self, ids):
        return {"op": self.op,
                "args": {name: _argument_to_json(arg, ids) for name, arg in self.args.items()},
                "results": [None if v is None else ids[v] for v in self.results],
                "mutated": [ids[v] for v in self.mutated]}


class Launch:
    """A kernel launch. What it writes is not known before the trusted compile: it may be anything
    that it was given."""

    results = ()

    def __init__(self, kernel, grid, args):
        self.kernel, self.grid, self.args = kernel, grid, args

    def kind(self):
        return self.kernel, tuple(self.grid)

    def reads(self):
        yield from values_in(self.args)

    may_write = reads

    def to_json(self, ids):
        return {"launch": self.kernel, "grid": list(self.grid),
                "args": _argument_to_json(self.args, ids)}


def values_in(arg):
    if isinstance(arg, Value):
        yield arg
    elif isinstance(arg, list):
        for item in arg:
            yield from values_in(item)


def _argument_to_json(arg, ids):
    if isinstance(arg, Value):
        return {"v": ids[arg]}
    if isinstance(arg, list):
        return [_argument_to_json(item, ids) for item in arg]
    return arg


def number_to_json(number):
    """An int or float, with what JSON cannot hold spelled out."""
    if isinstance(number, float) and not math.isfinite(number):
        return {"f": "nan" if math.isnan(number) else "inf" if number > 0 else "-inf"}
    return number


class Tape:
    def __init__(self, name):
        self.name = name
        self.steps = []
        self.inputs = {}  # key -> Value at the start of the phase, for what came from outside
        self.live = {}    # key -> Value, the latest that looks at these elements
        self.overwritten = set()  # storages that steps of the phase may write in place

    def add_input(self, key):
        if key not in self.inputs:
            self.inputs[key] = self.live[key] = Value(key)
        return self.inputs[key]

    def add_result(self, key):
        self.live[key] = value = Value(key)
        return value

    def program(self, inputs, outputs, steps=None):
        """The Program as JSON. `inputs` and `outputs` are Values of this tape."""
        steps = self.steps if steps is None else steps
        ids, storages, values = {}, {}, []

        def number(value):
            if value is not None and value not in ids:
                ids[value] = len(values)
                values.append(value.to_json(storages))

        for value in inputs:
            number(value)
        for step in steps:
            for value in step.results:
                number(value)
        return {"values": values, "inputs": [ids[v] for v in inputs],
                "steps": [step.to_json(ids) for step in steps],
                "outputs": [ids[v] for v in outputs]}

    def steps_behind(self, values, without=()):
        """The steps that `values` depend on, in order: a backward slice in which a write to a
        storage matters to everything that looks at it. The steps of `without` are none of them."""
        storages = {value.storage for value in values}
        needed = []
        for step in reversed(self.steps):
            if step in without:
                continue
            touched = {v.storage for v in step.results if v is not None}
            touched |= {v.storage for v in step.may_write()}
            if touched & storages:
                needed.append(step)
                storages |= touched | {v.storage for v in step.reads()}
        return needed[::-1], storages
