"""The `run` job: a file in plain Python, on data, with Triton's own interpreter. Nothing stands in for
anything, and nothing is recorded.

A run tells what the file that was judged does when somebody runs it. The results go to the supervisor
as bytes, and a job that never ran the file compares them (comparison.py). A file can find out that it
is run here. So a run decides no verdict: that is about the Program (docs/recording.md).

All data is drawn before the file is loaded. A file with the reference's weights is called with fresh
inputs several times, then with changed weights.
"""

import builtins
import copy
import dataclasses
import os
import random
import sys

import numpy as np
import torch

import recorder
from loading import MODULE_NAME, UserFile, plain_process
from refusal import Refused, one_line
from state import collect_state

CALLS = {"as constructed": 4, "weights changed": 2}
MOST_DEPTH = 32  # of containers in a result


def run(request):
    """The reply to a run request and its blobs, or Refused if the reference is at fault."""
    launches = _interpreted_triton()
    with plain_process(), torch.no_grad():
        data = Data(request)
        blobs = []
        calls, raised = [], None
        try:
            model, weights = data.model()
            for state in data.states:
                for name, tensor in weights:
                    tensor.copy_(state.weights[name])
                for arguments in state.arguments:
                    launches.clear()
                    calls.append(_call(model, arguments, weights, len(calls), blobs))
                    calls[-1]["use of kernels"] = {"literal": "some" if launches else "none"}
        except BaseException as error:  # the file's own, whatever it is
            raised = one_line(error)
    return {"status": "ok", "calls": calls, "raised": raised}, blobs


def _interpreted_triton():
    """Triton decides where its functions are defined whether its interpreter runs them: it is imported
    again. Nothing is timed: of several configurations the first is taken. Returns the list of kernels
    launched so far, which a file may launch none of when nothing records it."""
    os.environ["TRITON_INTERPRET"] = "1"
    for name in list(sys.modules):
        if name.partition(".")[0] == "triton" and not name.startswith("triton._C"):
            del sys.modules[name]
    from triton.runtime.driver import driver
    from triton.runtime.interpreter import InterpretedFunction
    driver.set_active(_NoDevice())
    launches, run_kernel = [], InterpretedFunction.run

    def counted(kernel, *args, **kwargs):
        launches.append(kernel)
        return run_kernel(kernel, *args, **kwargs)

    InterpretedFunction.run = counted
    return launches


class _NoDevice:
    """What Triton asks its driver for before it interprets a kernel."""

    def get_benchmarker(self):
        return lambda call, quantiles=None, **options: [0.0 for _ in quantiles or (0.5,)]


@dataclasses.dataclass
class State:
    """A state that a file is called in."""
    weights: dict  # name of the reference's -> tensor
    arguments: list  # of each call


class Data:
    """What a file is run on, and the file: a model with the reference's weights."""

    def __init__(self, request):
        self.request, self.seed = request, int(request["seed"])
        harness = request.get("harness")
        self.harness = None
        if harness:
            self.harness = _PlainFile(harness["source"], harness.get("file") or "reference.py",
                                      request.get("folder"), MODULE_NAME + "_harness")
        try:
            self.states = self._drawn(request)
        except Exception as error:
            raise Refused("raised", "the reference does not run on a CPU: " + one_line(error)) from None

    def _drawn(self, request):
        weights = {}
        if self.harness:
            seed(self.seed)
            self.harness.execute()
            reference = self._made(self.harness.get(request["harness"]["class"]))
            weights = {name: tensor.detach().clone() for name, tensor in tensors(reference).items()}
        states = []
        for number, (name, calls) in enumerate(CALLS.items()):
            seed(self.seed + 1 + number)
            if number:
                weights = {name: changed(tensor) for name, tensor in weights.items()}
            states.append(State(weights, [self._arguments(request) for _ in range(calls)]))
        return states

    def _made(self, kind):
        """An object of a class. A fragment's takes no arguments."""
        seed(self.seed)
        args, kwargs = recorder.init_arguments(self.harness) if self.harness else ([], {})
        return kind(*args, **kwargs)

    def _arguments(self, request):
        if request.get("inputs") is not None:
            return filled(recorder.fragment_arguments(request["inputs"], "cpu"))
        return list(self.harness.get("get_inputs")())

    def model(self):
        """The file's model, and [(name of the reference's weight, the model's tensor)]."""
        file = _PlainFile(self.request["source"], self.request.get("file") or "model.py",
                          self.request.get("folder"))
        seed(self.seed)
        file.execute()
        model = self._made(file.get(self.request.get("class") or "ModelNew"))
        own = tensors(model)
        return model, [(theirs, own[mine]) for mine, theirs in self.request["weights"]]


class _PlainFile(UserFile):
    def builtins(self):
        return builtins


def seed(number):
    torch.manual_seed(number)
    random.seed(number)
    np.random.seed(number % 2**32)


def tensors(model):
    """Name -> tensor of all that a model holds, by the names that a recording gives."""
    known = {}

    def key_of(tensor):
        known[id(tensor)] = tensor
        return id(tensor)

    entries, *_ = collect_state(model, key_of)
    return {name: known[entry["key"]] for entry in entries for name in entry["names"]}


def changed(tensor):
    """Other weights of the same kind. Integers, which may be indices, stay."""
    if not tensor.is_floating_point():
        return tensor
    noise = torch.randn(tensor.shape).to(tensor.dtype)
    return tensor * 0.9 + noise.abs() * 0.05


def filled(arguments):
    """The arguments of a fragment with random numbers. Integers are 0 or 1: they may be indices."""
    for tensor in arguments:
        flat = torch.empty(0, dtype=tensor.dtype).set_(tensor.untyped_storage())
        flat.normal_() if flat.is_floating_point() else flat.random_(0, 2)
    return arguments


def _call(model, arguments, weights, number, blobs):
    """What one call gives: its result, and what it changes of its arguments and weights."""
    before = copy.deepcopy(arguments)
    held = [tensor.detach().clone() for _, tensor in weights]
    seed(number)
    result = model(*arguments)
    found = {"result": _written(result, blobs)}
    for place, (old, new) in enumerate(zip(before, arguments)):
        if isinstance(old, torch.Tensor) and not _equal(old, new):
            found["argument %d" % place] = _written(new, blobs)
    for old, (name, new) in zip(held, weights):
        if not _equal(old, new):
            found["state " + name] = _written(new, blobs)
    return found


def _equal(a, b):
    return torch.equal(_bytes(a), _bytes(b))


def _bytes(tensor):
    return tensor.detach().contiguous().view(-1).view(torch.uint8)


def _written(value, blobs, depth=0):
    """A result as JSON; the bytes of its tensors go to `blobs`."""
    if depth > MOST_DEPTH:
        raise ValueError("the result nests too deeply")
    if isinstance(value, torch.Tensor):
        blobs.append(_bytes(value).numpy().tobytes())
        return {"dtype": str(value.dtype).removeprefix("torch."), "shape": list(value.shape),
                "blob": len(blobs) - 1}
    if dataclasses.is_dataclass(value):
        items = [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    elif isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, (list, tuple)):
        items = list(enumerate(value))
    else:
        return {"literal": repr(value)[:200]}
    return {"type": type(value).__name__,
            "items": [[str(key), _written(item, blobs, depth + 1)] for key, item in items]}
