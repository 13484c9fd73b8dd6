"""Values that follow from the program's text alone: literals, ranges, fills and arithmetic on them.

A constructor may read such a value on the host (`[r.item() for r in torch.linspace(0, 0.1, 12)]`).
It depends on no data, so running its few steps for real gives it without a device.
"""

import torch
from torch.utils._python_dispatch import _disable_current_modes

from tape import Call, Value

MAX_ELEMENTS = 1 << 16
MAX_STEPS = 256

# Operators that make a tensor and write no elements.
UNFILLED = {"aten.empty", "aten.empty_like", "aten.empty_strided", "aten.new_empty",
            "aten.new_empty_strided"}


def draws(op):
    """Whether an operator draws random numbers."""
    namespace, name, overload = op.split(".")
    if namespace == "kernelwright":  # a literal
        return False
    operator = getattr(getattr(getattr(torch.ops, namespace), name), overload)
    return torch.Tag.nondeterministic_seeded in operator.tags


def evaluate(tape, value, known):
    """The real tensor that `value` of `tape` is, or None when the text alone does not say. `known`
    gives the same for the key of an input of the tape."""
    steps, _ = tape.steps_behind([value])
    if not 0 < len(steps) <= MAX_STEPS:
        return None
    values = {}
    with _disable_current_modes(), torch.no_grad():
        for step in steps:
            if isinstance(step, Call):
                _take_inputs(step, tape, known, values)
            if not isinstance(step, Call) or not _determined(step, values):
                return None
            _run(step, values)
    return values.get(value)


def _take_inputs(step, tape, known, values):
    """Adds the inputs of the tape that a step reads, if no step of it writes to them."""
    for value in step.reads():
        if tape.inputs.get(value.key) is value and value.storage not in tape.overwritten:
            tensor = known(value.key)
            if tensor is not None:
                values[value] = tensor


def _determined(step, values):
    namespace, name, _ = step.op.split(".")
    if namespace not in ("aten", "kernelwright") or namespace + "." + name in UNFILLED or draws(step.op):
        return False
    if any(v is not None and v.key[2] and _elements(v) > MAX_ELEMENTS for v in step.results):
        return False
    return all(v in values for v in step.reads())


def _elements(value):
    count = 1
    for size in value.key[2]:
        count *= size
    return count


def _run(step, values):
    if step.op == "kernelwright.constant.default":
        data = torch.tensor(_decode(step.args["data"], values),
                            dtype=_decode(step.args["dtype"], values))
        result = data.reshape(step.args["shape"])
    else:
        function = torch.ops
        for part in step.op.split("."):
            function = getattr(function, part)
        given = {name: _decode(arg, values) for name, arg in step.args.items()}
        positional = []
        for argument in function._schema.arguments:
            if argument.kwarg_only or argument.name not in given:
                break
            positional.append(given.pop(argument.name))
        result = function(*positional, **given)
    flat = []
    for item in result if isinstance(result, (tuple, list)) else [result]:
        flat += item if isinstance(item, (tuple, list)) else [item]
    values.update((value, tensor) for value, tensor in zip(step.results, flat) if value is not None)


def _decode(arg, values):
    if isinstance(arg, Value):
        return values[arg]
    if isinstance(arg, list):
        return [_decode(item, values) for item in arg]
    if not isinstance(arg, dict):
        return arg
    (kind, what), = arg.items()
    if kind == "device":
        return torch.device("cpu")
    return float(what) if kind == "f" else getattr(torch, what)
