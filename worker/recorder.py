"""The `record` job: a file with a model in, the Task of docs/formats/task.md out.

There is no data: tensors are fake, and only their metadata exists. So nothing that is recorded can
depend on values. The model is constructed outside inference mode and called three times.

The second call counts. What it finds left over from the first belongs to `derive` if it follows from
the state alone, and is refused otherwise. The third call must do the same again. The recorder does not
defend itself against the file: the Program is what is judged (docs/recording.md).
"""

import contextlib
import inspect
import sys
import time
import warnings

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

import companion
import flags
import other_numbers
import standins
from dispatch import Recorder
from launches import Launches
from literals import UNFILLED
from loading import MODULE_NAME, UserFile, plain_process
from refusal import Refused, kind_of, one_line
from results import fields_of, is_plain
from settings import SettingReads
from state import collect_state
from tape import Launch, Value, number_to_json, tensor_key
from tuning import Tunings

MAX_TREE_DEPTH = 32


def record(request):
    """The reply to a record request, or Refused."""
    started = time.perf_counter()
    recording = Recording(request)
    task = recording.run()
    return {"status": "ok", "task": task, "kernels": recording.launches.kernels,
            "tunings": recording.tunings.listed,
            "seconds": time.perf_counter() - started,
            "warnings": recording.warnings}


class Recording:
    def __init__(self, request):
        self.request = request
        self.file = UserFile(request["source"], request.get("file") or "model.py",
                             request.get("folder"))
        # A candidate is called with the reference's inputs: they come from the reference's file.
        self.harness = self.file
        if request.get("harness"):
            given = request["harness"]
            self.harness = UserFile(given["source"], given.get("file") or "reference.py",
                                    request.get("folder"), MODULE_NAME + "_harness")
        self.profile = request.get("profile") or {}
        self.fake_mode = FakeTensorMode(allow_non_fake_inputs=True)
        self.recorder = Recorder(request.get("operators") or {}, self.file, self.fake_mode,
                                 request.get("without") or ())
        self.tunings = Tunings(self.recorder, request.get("configurations") or [])
        self.launches = Launches(self.recorder, self.file, self.profile, self.tunings,
                                 self._compiled if request.get("companion") else None)
        self.warnings = []

    def _compiled(self, raw):
        return companion.compiled(self.request["companion"], self.request, raw)

    def run(self):
        fast_path = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        before = _numerics_flags()
        try:
            with flags.kept():
                with self.installed():
                    task = self._phases()
                for name, value in _numerics_flags().items():
                    if value != before[name]:
                        self.warnings.append("the file sets %s: a recording keeps PyTorch's "
                                             "default (%s)" % (name, before[name]))
                return task
        finally:
            torch.backends.mha.set_fastpath_enabled(fast_path)

    @contextlib.contextmanager
    def installed(self):
        """Around the user's code: tensors are fake, and what is done to them goes to the recorder."""
        with self.fake_mode, standins.patched(self.profile, self.recorder), \
                self.launches.installed(), standins.OneDevice(self.recorder), \
                _unchecked_distributions(), plain_process(), self.recorder:
            yield

    # -- the phases -----------------------------------------------------------------------------

    def _phases(self):
        recorder = self.recorder
        if self.harness is not self.file:
            recorder.start("harness")  # apart, so that it draws nothing from init's generator
            self.user("the reference's file", self.harness.execute)
        self.init = recorder.start("init")
        self.user("the file", self.file.execute)
        model = self._construct()
        self.state, modules, containers = collect_state(model, lambda tensor: recorder.value(tensor).key)
        recorder.weights = {e["key"][0] for e in self.state if e["kind"] == "parameter"}

        self.inputs = recorder.start("inputs")
        self._begin()
        arguments = self._arguments()
        leaves = []
        trees = [self._tree(a, leaves, "in", "get_inputs") for a in arguments]
        outputs = [recorder.value(t) for t in leaves]
        self.input_keys = [v.key for v in outputs]

        self.warm = recorder.start("warm")
        reads = SettingReads(modules, containers, vars(self.file.module))
        with reads as settings, warnings.catch_warnings(record=True) as told:
            if "survives" not in recorder.without:
                self._call(model, arguments)
            self.forward, self.default_dtype = recorder.start("forward"), torch.get_default_dtype()
            result = self._call(model, arguments)
        self.modules = settings.described()
        self.warnings += ["%s:%s: %s stays a call of PyTorch's: no kernel is written for operators that "
                          "docs/operators.md does not list" % (file, line, name)
                          for name, (file, line) in recorder.opaque.items()]
        texts = [str(warning.message) for warning in told]
        self.warnings += [text for text in texts if text.startswith("ModelNew: ")]  # an export's
        leaves, self.work = [], len(self.forward.steps)
        result_tree = self.user("reading forward's result", lambda: self._tree(
            result, leaves, "out", "forward"))
        if len(self.forward.steps) > self.work:
            recorder.refuse("lazy", "forward's result computes only when it is read: compute before forward "
                            "returns")
        results = [recorder.value(t) for t in leaves]
        derived = self._derived()
        if "survives" not in recorder.without:
            held = {entry["key"]: entry["names"] for entry in collect_state(model, tensor_key)[0]}
            again = recorder.start("again")
            self._check_stable(self._call(model, arguments), again, derived, results, held)
        return self._task(model, trees, outputs, result_tree, results, derived)

    def user(self, what, run):
        """Runs the user's code; what it raises becomes a refusal with the user's line."""
        try:
            value = run()
        except Refused as refusal:
            raise self.recorder.refusal or refusal
        except BaseException as error:
            if self.recorder.refusal is not None:
                raise self.recorder.refusal from None
            if isinstance(error, AssertionError) and not str(error):
                message = "%s raised AssertionError" % what
            else:
                message = "%s raised %s" % (what, one_line(error))
            raise Refused("raised", message, *self.file.location_of(error)) from None
        if self.recorder.refusal is not None:
            raise self.recorder.refusal
        return value

    def _construct(self):
        name = self.request.get("class") or "Model"
        constructor = self.file.get(name)
        args, kwargs = [], {}
        if self.request.get("init_inputs"):
            args, kwargs = self.user("get_init_inputs", lambda: init_arguments(self.harness))
        model = self.user("constructing %s" % name, lambda: constructor(*args, **kwargs))
        if not callable(model):
            raise Refused("missing", "%s cannot be called: give it a method forward" % name, self.file.name, None)
        if isinstance(model, torch.nn.Module):
            model = self.user("moving %s to the device" % name, lambda: model.to("cuda"))
        return model

    def _arguments(self):
        given = self.request.get("inputs")
        if given is not None:
            return fragment_arguments(given)
        function = self.harness.get("get_inputs")
        arguments = self.user("get_inputs", function)
        if not isinstance(arguments, (list, tuple)):
            raise Refused("raised", "get_inputs returned a %s: return forward's arguments in a list"
                          % kind_of(arguments), self.harness.name, None)
        numbers = self.request.get("numbers")
        if numbers is not None:
            arguments = other_numbers.changed(list(arguments), numbers)
        return [a.cuda() if isinstance(a, torch.Tensor) else a for a in arguments]

    def _begin(self):
        """The state as inputs of the tape that has just started."""
        for entry in self.state:
            self.recorder.tape.add_input(entry["key"])

    def _call(self, model, arguments):
        """Calls forward on the tape that has just started."""
        self._begin()
        for key in self.input_keys:
            self.recorder.tape.add_input(key)

        def call():
            with torch.inference_mode():
                return model(*arguments)

        return self.user("forward", call)

    # -- what outlives a call -------------------------------------------------------------------

    def _derived(self):
        """Values of the warm-up call that the recorded call uses, by key."""
        known = {entry["key"] for entry in self.state} | set(self.input_keys)
        return [key for key in self._outside(self.forward, known) if key in self.warm.live]

    def _outside(self, tape, known):
        """Keys of a tape's inputs that are no state known so far. What construction made and no
        attribute holds joins the state."""
        for key in list(tape.inputs):
            if key not in known:
                if key in self.init.live and not self._made_by(self.warm, key):
                    self.state.append({"names": [], "kind": "constant", "key": key})
                    known.add(key)
                elif key in self.inputs.live and not self._made_by(self.warm, key):
                    raise Refused("survives", "forward uses a tensor that get_inputs made and did "
                                  "not return: pass it as an argument", self.file.name, None)
                else:
                    yield key

    @staticmethod
    def _made_by(tape, key):
        return key in tape.live and key not in tape.inputs

    def _derive_program(self, derived, results):
        values = [self.warm.live[key] for key in derived]
        kept = {value.storage for value in values}
        state_storages = {entry["key"][0] for entry in self.state}
        input_storages = {key[0] for key in self.input_keys} - state_storages
        readers = self._launches_on_inputs(input_storages, kept)
        steps, storages = self.warm.steps_behind(values, without=readers)
        filled = set().union(*(_fills(step) for step in steps))
        # What nothing has filled is a place for a kernel's pointer, if only kernels are given it, the
        # same ones in each call. If one reads it, the trial shows it.
        seen = {value.storage for value in results}
        seen |= {value.storage for step in self.forward.steps if not isinstance(step, Launch)
                 for value in step.reads()}
        seen |= {storage for storage in kept - filled
                 if self._takers(self.warm, storage) != self._takers(self.forward, storage)}
        if storages & input_storages or any(
                value.storage in (kept - filled) & seen for step in readers for value in step.reads()):
            raise Refused("survives", "a call uses a tensor that an earlier one computed from its "
                          "inputs: compute it anew in each call", self.file.name, None)
        for step in steps:
            for value in getattr(step, "mutated", ()):
                if value.storage in state_storages:
                    raise Refused("survives", "a call uses a tensor that an earlier one computed "
                                  "from a buffer that changes: compute it anew in each call", self.file.name, None)
        return steps, values

    @staticmethod
    def _takers(tape, storage):
        """The kernels that are launched on a storage, in order."""
        return [step.kernel for step in tape.steps if isinstance(step, Launch)
                and storage in {value.storage for value in step.reads()}]

    def _launches_on_inputs(self, input_storages, kept):
        """Returns the warm-up's launches on tensors that depend on the inputs. They are taken to read
        only what is `kept` for the next call. If one changes it, the trial shows it. If a kept tensor
        would have been filled by one, it is refused here."""
        tainted, launches = set(input_storages), set()
        for step in self.warm.steps:
            written = {v.storage for v in [*step.results, *step.may_write()] if v is not None}
            if not tainted & (written | {v.storage for v in step.reads()}):
                continue
            if isinstance(step, Launch):
                launches.add(step)
                written -= kept
            tainted |= written
        return launches

    def _check_stable(self, result, tape, derived, results, held):
        """Checks that the third call does what the second did: the file has one meaning. It must find
        the same left-overs, which may hold nothing that the second call knew. A trial that calls twice
        judges what launches leave there. `held`: key -> names of what the model held before."""
        if derived:
            self._check_overwritten({key[0]: key for key in derived})
        before = self.forward.steps[:self.work]
        if [step.kind() for step in tape.steps] != [step.kind() for step in before]:
            self.recorder.refuse("varies", "forward does one thing in its second call and another in "
                                  "its third: it must do the same in each")
        again = {key for key in tape.inputs if key in self.warm.live or key in self.forward.live}
        known = {entry["key"] for entry in self.state} | set(self.input_keys)
        if again - known != set(derived):
            raise self._made_anew([name for key in again - known for name in held.get(key, ())])
        if self.harness is not self.file:
            self._check_same_program(result, tape, again | known, results)

    def _made_anew(self, names):
        """The refusal of what a call leaves for the next, in attributes of these names."""
        if not names:
            return Refused("survives", "a call uses a tensor that the one before made anew: keep one tensor, and "
                           "write to it in place", self.file.name, None)
        name = min(names)
        attribute = name.rpartition(".")[2].partition("[")[0]
        buffer = "register_buffer(\"%s\", ...) in the constructor, and .copy_() in forward" % attribute
        return Refused("survives", "each call leaves another tensor behind in model.%s, which the next one reads: "
                       "keep one tensor, and write to it in place (%s)" % (name, buffer),
                       self.file.name, self.file.line_that_sets(attribute))

    def _check_same_program(self, result, tape, keys, results):
        """A candidate's third call is compared whole; a reference may draw numbers in Python."""
        leaves = []
        self.user("reading forward's result", lambda: self._tree(result, leaves, "out", "forward"))
        results_again = [self.recorder.value(leaf) for leaf in leaves]
        before, after = ([t.add_input(key) for key in keys] for t in (self.forward, tape))
        if not set(tape.inputs) <= keys or tape.program(after, results_again) \
                != self.forward.program(before, results):
            self.recorder.refuse("varies", "forward does one thing in its second call and another in "
                                  "its third: it must do the same in each")

    def _check_overwritten(self, derived):
        """An operator may write to what outlives a call (storage -> key) when the call has filled
        all of it before, and read none of it before that."""
        read, filled = set(), set()
        for step in self.forward.steps:
            for value in getattr(step, "mutated", ()):
                storage = value.storage
                if storage not in derived or storage in filled:
                    continue
                if step.op not in _OVERWRITES or value.key != derived[storage] or storage in read:
                    raise Refused("survives", "forward changes a tensor that an earlier call left: fill "
                                  "all of it first, or make it a buffer",
                                  self.file.name, None)
                filled.add(storage)
            read |= {value.storage for value in step.reads()} - filled

    # -- writing it out -------------------------------------------------------------------------

    def _task(self, model, trees, outputs, result_tree, results, derived):
        derive_steps, derive_values = self._derive_program(derived, results) if derived else ([], [])
        for tape in (self.inputs, self.warm):
            known = {entry["key"] for entry in self.state} | set(self.input_keys)
            for key in self._outside(tape, known):
                if tape is self.inputs:
                    raise Refused("unsupported", "get_inputs uses a tensor made when its file was "
                                  "loaded: make it in get_inputs", self.harness.name, None)
        init_outputs = [self.init.live[entry["key"]] for entry in self.state]

        def state_of(tape):
            return [tape.add_input(entry["key"]) for entry in self.state]

        forward_inputs = state_of(self.forward)
        forward_inputs += [self.forward.add_input(key) for key in derived]
        forward_inputs += [self.forward.add_input(key) for key in self.input_keys]
        kernels = [{k: v for k, v in raw.items() if k not in ("function", "functions")}
                   for raw in self.launches.kernels]
        return {
            "format": "kernelwright.task", "version": 1,
            "target": self.profile.get("arch", "sm_90"),
            "source": {"file": self.file.name, "class": self.request.get("class") or "Model",
                       "parameters": _parameter_names(model), "modules": self.modules,
                       "device": standins.asked_properties(self.profile, self.recorder.asked),
                       **{name: True for name in ("aligned", "compares_addresses")
                          if getattr(self.recorder, name)},
                       **({} if self.default_dtype == torch.float32
                          else {"default_dtype": str(self.default_dtype).removeprefix("torch.")})},
            "state": [self._entry(**e) for e in self.state],
            "kernels": [{**kernel, "source": ""} for kernel in kernels],
            "init": self.init.program([], init_outputs),
            "derive": self.warm.program(state_of(self.warm), derive_values, derive_steps),
            "inputs": self.inputs.program(state_of(self.inputs), outputs),
            "forward": self.forward.program(forward_inputs, results),
            "arguments": trees, "result": result_tree,
        }

    def _entry(self, names, kind, key):
        """An entry of the state. What was read on the host, the program takes for granted."""
        read = {"premise": True} if key in self.recorder.read_on_host else {}
        return {"names": names, "kind": kind, **read}

    def _tree(self, value, leaves, label, what, depth=0):
        """A value as a Tree; tensors go to `leaves`, each once."""
        if depth > MAX_TREE_DEPTH:
            raise Refused("unsupported", "what %s gives nests more than %d levels deep"
                          % (what, MAX_TREE_DEPTH), self.file.name, None)
        if isinstance(value, torch.Tensor):
            key = tensor_key(value) if isinstance(value, FakeTensor) else ("real", id(value))
            for index, leaf in enumerate(leaves):
                same = tensor_key(leaf) if isinstance(leaf, FakeTensor) else ("real", id(leaf))
                if same == key:
                    return {label: index}
            leaves.append(value)
            return {label: len(leaves) - 1}
        if label == "out" and not is_plain(value):
            self.recorder.refuse("lazy", "%s gives a %s, whose class computes what it holds: return a plain "
                                 "list, tuple, dict or dataclass" % (what, kind_of(value)))
        fields = fields_of(value) if label == "out" else None
        if fields is not None:
            kind = "tuple" if isinstance(value, tuple) else "dataclass"
            return {"object": {"type": self._name_of(type(value), what), "kind": kind, "fields": {
                name: self._tree(item, leaves, label, what, depth + 1)
                for name, item in fields.items()}}}
        if isinstance(value, (list, tuple)):
            items = [self._tree(item, leaves, label, what, depth + 1) for item in value]
            return {"list" if isinstance(value, list) else "tuple": items}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {"dict": [[key, self._tree(item, leaves, label, what, depth + 1)]
                             for key, item in value.items()]}
        if value is None or isinstance(value, (bool, str, int, float)):
            return number_to_json(value)
        if label == "in" and isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
            return {"torch": str(value)[6:]}
        kind = "dict whose keys are not all strings" if isinstance(value, dict) \
            else kind_of(value)
        raise Refused("unsupported", "%s gives a %s: it may give tensors, numbers, texts and None, and lists, "
                      "tuples and dicts of them" % (what, kind), self.file.name, None)


    def _name_of(self, kind, what):
        """The name of a class in the user's file, by which its objects can be made again."""
        names = [kind.__name__, *self.file.module.__dict__]
        for name in names:
            if name.isascii() and self.file.module.__dict__.get(name) is kind:
                return name
        raise Refused("unsupported", "%s gives a %s, a class that the file does not name: define "
                      "or import it at module level"
                      % (what, kind.__name__), self.file.name, None)


# Operators that write to all of their first argument and read nothing there.
_OVERWRITES = {"aten.zero_.default", "aten.fill_.Scalar", "aten.fill_.Tensor", "aten.copy_.default"}


def _fills(step):
    """Storages that a step may write values to: not those that it only makes or looks at."""
    filled = {value.storage for value in step.may_write()}
    if not isinstance(step, Launch) and step.op.rpartition(".")[0] not in UNFILLED:
        filled |= {v.storage for v in step.results if v is not None} \
            - {v.storage for v in step.reads()}
    return filled


@contextlib.contextmanager
def _unchecked_distributions():
    """torch.distributions asks whether its arguments are as they should be, which a Program does not."""
    kind = torch.distributions.Distribution
    before = kind._validate_args
    kind.set_default_validate_args(False)
    try:
        yield
    finally:
        kind.set_default_validate_args(before)


def _numerics_flags():
    """Global switches that change what PyTorch computes."""
    return {"torch.float32_matmul_precision": torch.get_float32_matmul_precision(),
            "torch.backends.cudnn.allow_tf32": torch.backends.cudnn.allow_tf32}


def init_arguments(harness):
    """The constructor's arguments and keywords, as a reference's file gives them."""
    if "get_init_inputs" not in harness.module.__dict__:
        return [], {}
    given = harness.get("get_init_inputs")()
    if isinstance(given, dict):
        return [], given
    return list(given if isinstance(given, (list, tuple)) else [given]), {}


def fragment_arguments(metadata, device="cuda"):
    """Fresh tensors for the Values of a fragment's boundary. Those of one storage share it."""
    spans = {}
    for value in metadata:
        span = value["offset"] + 1 + sum((n - 1) * s for n, s
                                         in zip(value["shape"], value["strides"]))
        spans[value["storage"]] = max(spans.get(value["storage"], 0), span)
    alone = {v["storage"]: sum(w["storage"] == v["storage"] for w in metadata) == 1
             for v in metadata}
    bases, arguments = {}, []
    for value in metadata:
        dtype, storage = getattr(torch, value["dtype"]), value["storage"]
        if alone[storage] and value["offset"] == 0:
            arguments.append(torch.empty_strided(value["shape"], value["strides"], dtype=dtype,
                                                 device=device))
            continue
        if storage not in bases:
            bases[storage] = torch.empty_strided([spans[storage]], [1], dtype=dtype, device=device)
        base = bases[storage]
        if base.dtype != dtype:
            base = base.view(dtype)
        arguments.append(torch.as_strided(base, value["shape"], value["strides"],
                                          value["offset"]))
    return arguments


def _parameter_names(model):
    """Names of forward's positional parameters."""
    forward = getattr(model, "forward", model)
    try:
        parameters = inspect.signature(forward).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


_WARM_UP = """
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl

@triton.jit
def kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)
        self.batch = nn.BatchNorm1d(8)
        self.conv = nn.Conv2d(2, 2, 3, padding=1)
        self.scale = nn.Parameter(torch.ones(8))

    def forward(self, x):
        x = F.gelu(self.norm(self.first(x))) * self.scale
        x = F.softmax(self.batch(x), dim=-1) @ self.first.weight.t()
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        q = x.view(2, 2, 4, 8).transpose(1, 2).contiguous()
        q = F.scaled_dot_product_attention(q, q, q) + self.conv(q.transpose(1, 2)).transpose(1, 2)
        y = torch.empty_like(x)
        kernel[(triton.cdiv(x.numel(), 16),)](x, y, x.numel(), BLOCK=16)
        return F.silu(y).clone(), torch.relu(q.sum(-1)).half(), torch.cat([x, y])

def get_inputs():
    return [torch.randn(16, 8)]
"""


class _Whole(dict):
    """An operator table that takes everything as it comes."""

    def __bool__(self):
        return True

    def get(self, name, default=None):
        return "whole"


def warm_up():
    """Records a small model twice, and as a candidate, so that the first job finds every cache
    filled."""
    harness = {"source": _WARM_UP, "file": "warm_up.py"}
    for given in (None, None, harness):
        record({"source": _WARM_UP, "file": "warm-up.py", "class": "Model", "init_inputs": True,
                "harness": given, "operators": _Whole(), "profile": {"arch": "sm_90", "sms": 132}})
    del sys.modules[MODULE_NAME], sys.modules[MODULE_NAME + "_harness"]
