"""An independent reading of docs/formats/task.md: runs a Program's operator calls on CPU tensors.

The tests' oracle for what was recorded. It knows nothing of the recorder; launches are handed to a
function of the caller's.
"""

import torch
from recording import operator_table

TABLE = operator_table()


def decode(arg, values):
    if isinstance(arg, list):
        return [decode(item, values) for item in arg]
    if not isinstance(arg, dict):
        return arg
    (kind, what), = arg.items()
    if kind == "v":
        return values[what]
    if kind in ("dtype", "layout", "memory_format"):
        return getattr(torch, what)
    if kind == "device":
        return torch.device("cpu")
    if kind == "f":
        return float(what)
    raise AssertionError("argument %r" % arg)


def call(step, values):
    namespace, name, overload = step["op"].split(".")
    if namespace == "kernelwright":
        assert name == "constant"
        args = {k: decode(v, values) for k, v in step["args"].items()}
        return [torch.tensor(args["data"], dtype=args["dtype"]).reshape(args["shape"])]
    function = getattr(getattr(getattr(torch.ops, namespace), name), overload)
    given = {k: decode(v, values) for k, v in step["args"].items()}
    positional, keywords = [], {}
    for argument in function._schema.arguments:
        if argument.name in given:
            value = given[argument.name]
            if str(argument.type) == "Tensor" and not isinstance(value, torch.Tensor):
                value = torch.tensor(value)
            keywords[argument.name] = value
    # `self` and `from` are no Python keywords' friends: pass leading arguments by position.
    names = [a.name for a in function._schema.arguments if not a.kwarg_only]
    while names and names[0] in keywords:
        positional.append(keywords.pop(names.pop(0)))
    result = function(*positional, **keywords)
    flat = []
    for item in result if isinstance(result, (tuple, list)) else [result]:
        flat += item if isinstance(item, (tuple, list)) else [item]
    return flat


def check(tensor, value):
    assert str(tensor.dtype) == "torch." + value["dtype"]
    assert list(tensor.shape) == value["shape"]
    if tensor.numel() > 1:
        assert [s for s, n in zip(tensor.stride(), tensor.shape) if n != 1] == \
            [s for s, n in zip(value["strides"], value["shape"]) if n != 1]
    assert tensor.storage_offset() == value["offset"]


def check_numbering(program):
    """Inputs first, then results in order; storages in order of first appearance."""
    seen = list(program["inputs"])
    assert seen == list(range(len(seen)))
    for step in program["steps"]:
        seen += [v for v in step.get("results", []) if v is not None]
    assert seen == list(range(len(program["values"])))
    storages = []
    for value in program["values"]:
        if value["storage"] not in storages:
            storages.append(value["storage"])
    assert storages == list(range(len(storages)))


def storages_of(step, program):
    """The storages of a call's operands."""
    listed = [arg for given in step["args"].values() for arg in (given if isinstance(given, list) else [given])]
    return {program["values"][arg["v"]]["storage"] for arg in listed if isinstance(arg, dict) and "v" in arg}


def run(program, inputs, launch=None):
    """The outputs of a Program on CPU tensors."""
    check_numbering(program)
    values = dict(zip(program["inputs"], inputs))
    for number, tensor in values.items():
        check(tensor, program["values"][number])
    for step in program["steps"]:
        if "launch" in step:
            launch(step, values)
            continue
        for number, tensor in zip(step["results"], call(step, values)):
            if number is not None:
                value = program["values"][number]
                # The layout of such results is the kernel's choice; recorded is CUDA's, or that of fake tensors.
                own = step["op"] == "aten.scaled_dot_product_attention.default" or TABLE[step["op"]] == "opaque"
                if own and value["storage"] not in storages_of(step, program):
                    tensor = torch.empty_strided(value["shape"], value["strides"], dtype=tensor.dtype).copy_(tensor)
                values[number] = tensor
                check(tensor, program["values"][number])
    storages = {}
    for number, tensor in values.items():
        place = storages.setdefault(program["values"][number]["storage"],
                                    tensor.untyped_storage().data_ptr())
        assert place == tensor.untyped_storage().data_ptr(), "aliasing differs"
    return [values[number] for number in program["outputs"]]


def build(tree, leaves, label):
    """A Tree with its leaves filled in."""
    if isinstance(tree, dict):
        (kind, what), = tree.items()
        if kind == label:
            return leaves[what]
        if kind == "list":
            return [build(item, leaves, label) for item in what]
        if kind == "tuple":
            return tuple(build(item, leaves, label) for item in what)
        if kind == "dict":
            return {key: build(item, leaves, label) for key, item in what}
        if kind == "object":
            fields = {key: build(item, leaves, label) for key, item in what["fields"].items()}
            return (what["type"], fields)
        if kind == "torch":
            return getattr(torch, what)
        return float(what)
    return tree


def run_task(task, seed=0, launch=None):
    """(state, arguments, result) of one call, from nothing."""
    torch.manual_seed(seed)
    state = run(task["init"], [])
    assert len(state) == len(task["state"])
    derived = run(task["derive"], state, launch)
    inputs = run(task["inputs"], state)
    kept = [tensor.clone() for tensor in inputs]
    initial = [tensor.clone() for tensor in state]
    outputs = run(task["forward"], state + derived + inputs, launch)
    arguments = [build(tree, kept, "in") for tree in task["arguments"]]
    return initial, arguments, build(task["result"], outputs, "out"), state
