"""The truth about an export, found in plain Python: PyTorch and Triton alone, no Kernelwright.

    python tests/truth.py REFERENCE.py OPTIMIZED.py [--backend cpu|cuda] [--calls 30] [--json]

A file that behaves otherwise while it is judged may lie about anything, but not about this test. It runs
ModelNew of OPTIMIZED.py in a fresh process next to Model of REFERENCE.py. Both get the same weights and
copies of the same fresh inputs. The export is true if all of the following hold:

1. The results, the inputs and the state after each call are equal, in each of STATES and under
   `python -O`. A call may differ by 8 times the reference's own error, which a run of the
   reference in float64 shows, or by 16 units of rounding (root mean square; the worst element by
   64). Integers are equal.
2. Each call launches as many kernels as the text of the export does.
3. No call runs the original forward, except with other arguments. Then it has to.
4. The test fails for the same export without its stores.

Without a GPU, Triton's interpreter runs the kernels. `--json` prints one object with the numbers of
"states", "calls" and "launches" and the list of "faults". The exit status is 1 if there are faults.

From Python: `truth(reference, optimized)` is the command, and `examine()` is its part for one process.
"""

import argparse
import ast
import collections
import concurrent.futures
import contextlib
import copy
import importlib.util
import io
import json
import multiprocessing
import os
import pathlib
import pickle
import random
import subprocess
import sys
import tempfile
import threading
import warnings

import numpy as np
import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

NARROW = (torch.float32, torch.float16, torch.bfloat16)
SCALES = (1.0, 0.5, 2.0)  # of the inputs, in turn
UNDER_O = ("as constructed", "weights changed in place", "other arguments")
FALLBACK_SAYS = "running the original forward"


class Fault(Exception):
    """The export is not what it must be."""


# ---- The text of an export.


def is_jit(function):
    return isinstance(function, ast.FunctionDef) and any("jit" in ast.unparse(d) for d in function.decorator_list)


def launches_of(text):
    """How many kernels a call launches by the text, and how many more when it packs weights again."""
    tree = ast.parse(text)
    kernels = {node.name for node in tree.body if is_jit(node)}
    counts = collections.Counter()
    for model in (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "ModelNew"):
        for method in model.body:
            for node in ast.walk(method):
                subscript = node.func if isinstance(node, ast.Call) else None
                if isinstance(subscript, ast.Subscript) and ast.unparse(subscript.value) in kernels:
                    counts[method.name == "_kw_derived"] += 1
    return counts[False], counts[True]


class _StoresOut(ast.NodeTransformer):
    """Puts for each store nothing, and for each atomic operation the value that it was given."""

    def __init__(self):
        self.removed = 0

    def visit_Call(self, node):
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name == "store":
            self.removed += 1
            return ast.Constant(None)
        if name.startswith("atomic_"):
            self.removed += 1
            return node.args[-1] if name == "atomic_cas" else node.args[1]
        return node


def without_stores(text):
    """The export's text with kernels that store nothing."""
    tree = ast.parse(text)
    out = _StoresOut()
    for node in tree.body:
        if is_jit(node):
            out.visit(node)
    if not out.removed:
        raise Fault("its kernels hold no store")
    return ast.unparse(ast.fix_missing_locations(tree))


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---- What is equal.


class Mode(TorchDispatchMode):
    @classmethod
    def _should_skip_dynamo(cls):  # to skip it would import it, which takes seconds
        return False


class Widened(Mode):
    """Computes in float64. Only random numbers are drawn in their own type."""

    def __init__(self):
        super().__init__()
        self.convolves = False

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        self.convolves |= func is torch.ops.aten.convolution.default
        draws = torch.Tag.nondeterministic_seeded in func.tags
        if kwargs.get("dtype") in NARROW and not draws:
            kwargs["dtype"] = torch.float64
        writes = func._schema.is_mutable
        if not writes:
            args, kwargs = wide((args, kwargs))
        result = func(*args, **kwargs)
        return result if writes else wide(result)


class Tf32(Mode):
    """Convolves in TF32, as PyTorch does on a GPU by default."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.convolution.default and args[0].dtype == torch.float32:
            args = (*map(in_tf32, args[:2]), *args[2:])
        return func(*args, **(kwargs or {}))


def in_tf32(tensor):
    """Rounds to 10 bits of fraction, to even."""
    bits = tensor.contiguous().view(torch.int32)
    return ((bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFF).view(torch.float32)


def wide(tree):
    return pytree.tree_map(
        lambda x: x.double() if isinstance(x, torch.Tensor) and x.dtype in NARROW else x, tree)


def numbers(tensor):
    return (torch.view_as_real(tensor) if tensor.is_complex() else tensor).double()


class Expected:
    """What a call has to give: the reference's own tree, and what bounds its error.

    `exact` is the tree in float64, `rounded` the tree as a GPU computes it. Both may be None.
    """

    def __init__(self, tree, exact=None, rounded=None):
        self.tree = tree
        self.leaves, self.structure = pytree.tree_flatten(tree)
        self.further = [pytree.tree_leaves(each) for each in (exact, rounded)]

    def check(self, what, got):
        """Throws a Fault unless `got` is equal."""
        gots, structure = pytree.tree_flatten(got)
        if structure != self.structure:
            raise Fault(f"{what}: {structure} instead of {self.structure}")
        for i, (want, leaf) in enumerate(zip(self.leaves, gots)):
            says = self.differs(i, want, leaf)
            if says:
                raise Fault(f"{what} {i} {says}")

    def differs(self, i, want, got):
        if not isinstance(want, torch.Tensor):
            is_equal = type(want) is type(got) and (want == got or want != want and got != got)
            return "" if is_equal else f"is {got} instead of {want}"
        like = [(t.dtype, tuple(t.shape), t.device) if isinstance(t, torch.Tensor) else t for t in (want, got)]
        if like[0] != like[1]:
            return f"is {like[1]} instead of {like[0]}"
        if not (want.is_floating_point() or want.is_complex()):
            return "" if torch.equal(want, got) else "differs"
        exact, rounded = (leaves[i] if len(leaves) == len(self.leaves) else None for leaves in self.further)
        return floats_differ(want, got, exact, rounded)


def floats_differ(want, got, exact=None, rounded=None):
    """What is wrong with the floating-point tensor `got`, "" if nothing."""
    unit = torch.finfo(want.dtype).eps
    want, got = numbers(want), numbers(got)
    if not torch.equal(want.isnan(), got.isnan()) or not torch.equal(want.isinf(), got.isinf()):
        return "has NaN or infinity elsewhere"
    if not torch.equal(want[want.isinf()], got[want.isinf()]):
        return "has infinity of another sign"
    finite = want.isfinite()
    if not finite.any():
        return ""
    want, got = want[finite], got[finite]
    exact, rounded = (numbers(x)[finite] if isinstance(x, torch.Tensor) else None for x in (exact, rounded))
    measures = {"root mean square": (lambda x: x.square().mean().sqrt().item(), 16),
                "worst element": (lambda x: x.abs().max().item(), 64)}
    for name, (measure, floor) in measures.items():
        scale = measure(want)
        # Without an oracle, or with one of other random numbers, half of the digits have to agree.
        allowed = unit ** 0.5 * scale
        if exact is not None:
            own = max(measure(x - exact) for x in (want, rounded) if x is not None)
            allowed = min(max(8 * own, floor * unit * scale), allowed)
        off = measure(got - want)
        if not off <= allowed + torch.finfo(torch.float32).tiny:
            return f"is off by {off:.2e} of {scale:.2e} ({name}, allowed {allowed:.2e})"
    return ""


# ---- Calls.


class Run:
    """A reference and an export in this process, and what their calls have shown."""

    def __init__(self, reference, optimized, backend):
        self.device, self.seeds = torch.device(backend), 1000
        self.states = self.calls = self.launches = 0
        self.faults, self.warned = [], []
        self.has_state = self.is_random = False
        text = pathlib.Path(optimized).read_text()
        self.steps, self.packing_steps = launches_of(text)
        self.guards_mode = "self.training" in text[text.find("class ModelNew"):]
        self.reference = load(reference, "truth_reference")
        self.export = load(optimized, "truth_export")
        self.counts = collections.defaultdict(collections.Counter)  # of each thread
        if self.steps == 0:
            raise Fault("it launches no kernel")

    @contextlib.contextmanager
    def counting(self):
        """Counts launches and calls of the original forward from outside."""
        from triton.runtime.interpreter import InterpretedFunction
        from triton.runtime.jit import JITFunction
        is_interpreted = self.device.type == "cpu"
        kernel, model = InterpretedFunction if is_interpreted else JITFunction, self.export.Model
        one_at_a_time = threading.Lock() if is_interpreted else contextlib.nullcontext()
        run, forward = kernel.run, model.forward

        def counted_run(function, *args, **kwargs):
            self.counts[threading.get_ident()]["launches"] += 1
            with one_at_a_time:
                return run(function, *args, **kwargs)

        def counted_forward(module, *args, **kwargs):
            self.counts[threading.get_ident()]["fallbacks"] += 1
            return forward(module, *args, **kwargs)

        kernel.run, model.forward = counted_run, counted_forward
        try:
            with warnings.catch_warnings(record=True) as self.warned:
                warnings.simplefilter("always")
                yield
        finally:
            kernel.run, model.forward = run, forward

    def fallback_warnings(self):
        return sum(FALLBACK_SAYS in str(warning.message) for warning in self.warned)

    def seed(self, seed=None):
        """Seeds all generators, with a new seed if none is given."""
        if seed is None:
            self.seeds += 1
            seed = self.seeds
        torch.manual_seed(seed)
        random.seed(seed)
        np.random.seed(seed)
        return seed

    def built(self, class_, seed):
        self.seed(seed)
        with torch.device(self.device):
            return class_(*self.reference.get_init_inputs()).to(self.device)

    def inputs(self):
        scale = SCALES[self.seed() % len(SCALES)]
        with torch.device(self.device):
            drawn = self.reference.get_inputs()
        return pytree.tree_map(
            lambda x: (x * scale if isinstance(x, torch.Tensor) and x.is_floating_point() else
                       x).to(self.device) if isinstance(x, torch.Tensor) else x, drawn)

    def runs(self, model, inputs, seed):
        """Returns (result, inputs, state) of the reference in float64, and of it as on a GPU.

        Nones stand for the first if it cannot run there, and for the second if it is the plain run.
        """
        def under(mode, model, inputs):
            self.seed(seed)
            with mode:
                return model(*inputs), inputs, dict(model.state_dict())

        exact = rounded = (None, None, None)
        with torch.inference_mode(False), torch.no_grad():
            try:
                mode = Widened()
                exact = under(mode, copy.deepcopy(model).double(), wide(copy.deepcopy(inputs)))
                if mode.convolves and self.device.type == "cpu":
                    rounded = under(Tf32(), copy.deepcopy(model), copy.deepcopy(inputs))
            except Exception:  # a cast to bits, a tensor that no list of the model holds
                pass
        return exact, rounded

    def synchronize(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def random_state(self):
        return torch.cuda.get_rng_state() if self.device.type == "cuda" else torch.get_rng_state()

    def free_nans(self):
        """Frees memory full of NaN, which the next allocations get."""
        [torch.full((1 << k,), float("nan"), device=self.device) for k in range(4, 18) for _ in range(3)]


class Pair:
    """A reference and an export with equal weights."""

    def __init__(self, run, reference=None, export=None):
        self.run = run
        seed = run.seed()
        self.reference = reference or run.built(run.reference.Model, seed)
        self.export = export or run.built(run.export.ModelNew, seed)
        self.called = self.export
        self.modes = [module.training for module in self.reference.modules()]
        self.kept = []
        if reference is None:
            self.each(lambda model, state=self.reference.state_dict(): model.load_state_dict(
                copy.deepcopy(state), strict=True))

    def each(self, change):
        """Changes both models; random numbers are the same for both."""
        seed = self.run.seed()
        for model in (self.reference, self.export):
            self.run.seed(seed)
            change(model)

    def copied(self, copier):
        return Pair(self.run, copier(self.reference), copier(self.export))

    def may_fall_back(self):
        """None if the export guards its mode and this is another one than as constructed, else False."""
        return None if self.run.guards_mode and self.reference.training != self.modes[0] else False

    def asked(self, inputs=None):
        """A call of the reference: what the export has to give, and for what."""
        run = self.run
        inputs = run.inputs() if inputs is None else inputs
        mine, theirs = copy.deepcopy(inputs), copy.deepcopy(inputs)
        before = [t.clone() for t in self.reference.state_dict().values()]
        seed = run.seed()
        exact, rounded = run.runs(self.reference, inputs, seed)
        run.seed(seed)
        untouched = run.random_state()
        want = self.reference(*mine)
        run.is_random |= not torch.equal(untouched, run.random_state())
        state = dict(self.reference.state_dict())
        run.has_state |= not all(map(torch.equal, before, state.values()))
        return theirs, seed, [Expected(*trees) for trees in zip((want, mine, state), exact, rounded)]

    def answers(self, asked, fallback=False):
        """Calls the export and compares. `fallback`: whether the original forward must run, None: may."""
        theirs, seed, (result, inputs, state) = asked
        run = self.run
        counts = run.counts[threading.get_ident()]
        counts.clear()
        warned = run.fallback_warnings()
        run.free_nans()
        run.seed(seed)
        got = self.called(*theirs)
        run.synchronize()
        run.calls += 1
        run.launches += counts["launches"]
        if fallback is not None and (counts["fallbacks"] > 0) != fallback:
            raise Fault("ran its kernels for other arguments" if fallback else "ran the original forward")
        if fallback is False and run.fallback_warnings() > warned:
            raise Fault("warned that it runs the original forward")
        if fallback is False and counts["launches"] not in (run.steps, run.steps + run.packing_steps):
            raise Fault(f"launched {counts['launches']} kernels; its text launches {run.steps}")
        result.check("result", got)
        inputs.check("input", theirs)
        state.check("state", dict(self.export.state_dict()))
        self.kept.append((result.tree, got, copy.deepcopy(pytree.tree_map(detached, (result.tree, got)))))

    def call(self, inputs=None, fallback=False, times=1):
        for _ in range(times):
            self.answers(self.asked(inputs), fallback)

    def check_kept(self):
        """Later calls leave earlier results as they were, unless the reference's change too."""
        for want, got, (want_then, got_then) in self.kept:
            if same(want, want_then) and not same(got, got_then):
                raise Fault("a later call changed an earlier result")
        self.kept.clear()


def detached(x):
    return x.detach() if isinstance(x, torch.Tensor) else x


def same(a, b):
    """True if the trees hold the same bits."""
    return all(torch.equal(x.nan_to_num(), y.nan_to_num()) and torch.equal(x.isnan(), y.isnan())
               for x, y in zip(pytree.tree_leaves(a), pytree.tree_leaves(b)) if isinstance(x, torch.Tensor))


# ---- The states.

STATES = {}  # name -> a function of a pair, which comes from the state before


def state(name):
    def add(function):
        STATES[name] = function
        return function

    return add


def floating(model):
    return [p for p in model.parameters() if p.is_floating_point()]


def change_weights(model):
    """Other weights in place, and running statistics as in use."""
    for p in floating(model):
        p.mul_(0.9).add_(torch.randn_like(p), alpha=0.05)
    for module in model.modules():
        if getattr(module, "running_var", None) is not None:
            module.running_mean.add_(0.1)
            module.running_var.mul_(1.3)


@state("as constructed")
def _(pair):
    pair.call(times=2)


@state("eval()")
def _(pair):
    pair.each(lambda model: model.eval())
    pair.call(fallback=pair.may_fall_back(), times=2)


@state("train() again")
def _(pair):
    pair.each(lambda model: model.train())
    pair.call(fallback=pair.may_fall_back(), times=2)


@state("mode as constructed again")
def _(pair):
    def restore(model):
        for module, mode in zip(model.modules(), pair.modes):
            module.training = mode

    pair.each(restore)
    pair.call()


@state("weights loaded")
def _(pair):
    run = pair.run
    for assign in (False, True):
        new = run.built(run.reference.Model, run.seed()).state_dict()
        pair.each(lambda model: model.load_state_dict(copy.deepcopy(new), strict=True, assign=assign))
        pair.call()


@state("weights changed in place")
def _(pair):
    for _ in range(2):
        pair.each(change_weights)
        pair.call()


@state("another dtype and back")
def _(pair):
    def there_and_back(model):
        held = list(model.parameters()) + list(model.buffers())
        dtypes = [t.dtype for t in held]
        model.to(torch.bfloat16)
        if len({dtype for dtype in dtypes if dtype.is_floating_point}) == 1:
            model.to(next(dtype for dtype in dtypes if dtype.is_floating_point))
            return
        for t, dtype in zip(held, dtypes):
            t.data = t.data.to(dtype)

    pair.each(there_and_back)
    pair.call(times=2)


@state("another device and back")
def _(pair):
    if pair.run.device.type == "cpu":
        return False
    pair.each(lambda model: model.to("cpu").to(pair.run.device))
    pair.call()


@state("parameters replaced through .data")
def _(pair):
    def replace(model):
        for p in floating(model):
            p.data = p.data * 0.9 + 0.05 * torch.randn_like(p)

    for _ in range(2):  # memory that is freed is what is allocated next
        pair.each(replace)
        pair.call()


@state("parameters replaced")
def _(pair):
    def replace(model):
        new = {id(p): torch.nn.Parameter(p.detach() + 0.05 * torch.randn_like(p), p.requires_grad)
               for p in floating(model)}
        for module in model.modules():
            for name, p in module._parameters.items():
                module._parameters[name] = new.get(id(p), p)

    for _ in range(2):
        pair.each(replace)
        pair.call()


@state("deep copy")
def _(pair):
    other = pair.copied(copy.deepcopy)
    other.each(change_weights)
    other.call()
    pair.call()


@state("saved and loaded")
def _(pair):
    def loaded(model, new):
        file = io.BytesIO()
        torch.save(model.state_dict(), file)
        file.seek(0)
        new.load_state_dict(torch.load(file), strict=True)
        return new.train(model.training)

    other = Pair(pair.run)
    loaded(pair.reference, other.reference)
    loaded(pair.export, other.export)
    other.call()


@state("pickled")
def _(pair):
    other = pair.copied(lambda model: pickle.loads(pickle.dumps(model)))
    other.call()
    other.each(change_weights)
    other.call()


@state("threads")
def _(pair):
    """Several at once, with weights to pack; one after the other if calls depend on their order."""
    pair.each(change_weights)
    in_order = pair.run.has_state or pair.run.is_random

    def answer(asked):
        with torch.no_grad():
            pair.answers(pair.asked() if in_order else asked)

    asked = [None if in_order else pair.asked() for _ in range(3)]
    with concurrent.futures.ThreadPoolExecutor(1 if in_order else 3) as pool:
        list(pool.map(answer, asked))


@state("another stream")
def _(pair):
    if pair.run.device.type == "cpu":
        return False
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        pair.call(times=2)


@state("inference_mode()")
def _(pair):
    with torch.inference_mode():
        pair.call(times=2)


@state("frozen weights")
def _(pair):
    wanted = [p.requires_grad for p in pair.export.parameters()]
    pair.each(lambda model: model.requires_grad_(False))
    with torch.enable_grad():
        pair.call()
    pair.each(lambda model: [p.requires_grad_(want) for p, want in zip(model.parameters(), wanted)])


@state("other arguments")
def _(pair):
    """The original runs for other shapes, other strides and gradients, and one warning says so."""
    pair = Pair(pair.run)
    warned, tried = pair.run.fallback_warnings(), 0
    for other in (fewer_rows, other_strides, wants_gradients):
        inputs = other(pair)
        with torch.set_grad_enabled(other is wants_gradients):
            if inputs is not None and accepts(pair.reference, inputs):
                pair.call(inputs, fallback=True)
                tried += 1
    if tried and pair.run.fallback_warnings() != warned + 1:
        raise Fault("did not warn once that it runs the original forward")
    return tried > 0


def accepts(model, inputs):
    try:
        copy.deepcopy(model)(*copy.deepcopy(inputs))
        return True
    except Exception:
        return False


def fewer_rows(pair):
    """Inputs without the last row; None if there is no tensor of two rows."""
    inputs = pair.run.inputs()
    rows = max((x.shape[0] for x in pytree.tree_leaves(inputs) if isinstance(x, torch.Tensor) and x.dim()), default=0)
    cut = [isinstance(x, torch.Tensor) and x.dim() and x.shape[0] == rows for x in pytree.tree_leaves(inputs)]
    leaves, structure = pytree.tree_flatten(inputs)
    return None if rows < 2 else pytree.tree_unflatten(
        [x[:-1].clone() if each else x for x, each in zip(leaves, cut)], structure)


def other_strides(pair):
    """Inputs whose last two dimensions are in the other order in memory; None if there are none."""
    inputs = pair.run.inputs()
    swapped = pytree.tree_map(lambda x: x.mT.clone(memory_format=torch.contiguous_format).mT if isinstance(
        x, torch.Tensor) and x.dim() > 1 and min(x.shape[-2:]) > 1 else x, inputs)
    pairs = zip(pytree.tree_leaves(inputs), pytree.tree_leaves(swapped))
    return swapped if any(a is not b and a.stride() != b.stride() for a, b in pairs) else None


def wants_gradients(pair):
    return pair.run.inputs() if any(p.requires_grad for p in pair.export.parameters()) else None


@state("memory full of NaN")
def _(pair):
    """PyTorch fills what is allocated, and not set, with NaN."""
    set_deterministic = torch._C._set_deterministic_algorithms  # the public one imports Inductor
    set_deterministic(True, warn_only=True)
    try:
        pair.call(times=2)
    finally:
        set_deterministic(False)


@state("torch.compile")
def _(pair):
    if pair.run.device.type == "cpu":  # the interpreter is not what is compiled
        from triton.runtime.interpreter import InterpretedFunction
        InterpretedFunction.run = torch.compiler.disable(InterpretedFunction.run)
    pair.called = torch.compile(pair.export, backend="eager" if pair.run.device.type == "cpu" else "inductor")
    pair.call(fallback=None, times=2)
    pair.each(change_weights)
    pair.call(fallback=None)
    pair.called = pair.export


@state("many calls")
def _(pair):
    pair.call(times=max(3, pair.run.least_calls - pair.run.calls))


# ---- One process, and the command.


def prepare(backend):
    """Imports Triton, and completes its interpreter if that runs the kernels."""
    import triton  # noqa: F401
    if backend == "cpu":
        import interpreted
        interpreted.complete()
        torch.set_num_threads(1)


def examine(reference, optimized, backend="cpu", calls=30, states=None, stop=False):
    """What the states show in this process; up to the first fault if `stop`."""
    prepare(backend)
    faults = []
    run = None
    try:
        run = Run(reference, optimized, backend)
        run.least_calls = calls
        with run.counting(), torch.no_grad():
            pair = None
            for name in states or STATES:
                try:
                    pair = pair or Pair(run)
                    run.states += STATES[name](pair) is not False
                    pair.check_kept()
                except Exception as error:
                    kind = "" if isinstance(error, Fault) else type(error).__name__ + ": "
                    faults.append(f"{name}: {kind}{error}"[:500])
                    pair = None  # the next state starts afresh
                    if stop:
                        break
    except Fault as fault:
        faults.append(str(fault))
    counted = {name: getattr(run, name, 0) for name in ("states", "calls", "launches")}
    return {**counted, "faults": faults}


class Forked:
    """A function that runs in a fork of this process."""

    def __init__(self, function, *args):
        context = multiprocessing.get_context("fork")
        self.result_end, end = context.Pipe(duplex=False)
        self.process = context.Process(target=lambda: end.send(function(*args)))
        self.process.start()
        end.close()

    def result(self, seconds):
        """What it returned; None if it died, or ran longer and was ended."""
        try:
            return self.result_end.recv() if self.result_end.poll(seconds) else None
        except EOFError:
            return None
        finally:
            self.process.kill()
            self.process.join()


def everything(options):
    """All states, some under -O, and the export without its stores, side by side."""
    reference, optimized, backend = options.reference, options.optimized, options.backend
    own = [name for name in STATES if name != "torch.compile"]
    with tempfile.TemporaryDirectory() as folder:
        emptied = pathlib.Path(folder) / "without_stores.py"
        try:
            emptied.write_text(without_stores(pathlib.Path(optimized).read_text()))
        except (Fault, SyntaxError) as error:
            return {"states": 0, "calls": 0, "launches": 0, "faults": [str(error)]}
        under_o = subprocess.Popen(
            [sys.executable, "-O", __file__, reference, optimized, "--backend", backend, "--json", "--calls", "0",
             "--states", *UNDER_O], stdout=subprocess.PIPE, text=True)
        prepare(backend)
        compiled = Forked(examine, reference, optimized, backend, 0, ["torch.compile"])
        without = Forked(examine, reference, emptied, backend, 0, own, True)
        total = examine(reference, optimized, backend, options.calls, own)
        parts = {"torch.compile": compiled.result(options.timeout)}
        try:
            parts["python -O"] = json.loads(under_o.communicate(timeout=options.timeout)[0])
        except (subprocess.TimeoutExpired, json.JSONDecodeError):
            under_o.kill()
            parts["python -O"] = None
        # An export that dies or waits forever without its stores fails the test, too.
        passed = without.result(options.timeout)
    for name, part in parts.items():
        if part is None:
            total["faults"].append(f"{name}: the process died, or took over {options.timeout} s")
            continue
        total["states"] += 1
        total["calls"] += part["calls"]
        total["launches"] += part["launches"]
        total["faults"] += part["faults"] if name == "torch.compile" else [f"{name}: {f}" for f in part["faults"]]
    if passed is not None and not passed["faults"]:
        total["faults"].append("without its stores it passes the same test")
    return total


def truth(reference, optimized, backend="cpu", calls=30, timeout=300):
    """The command's answer: "states", "calls", "launches" and "faults"."""
    command = [sys.executable, __file__, reference, optimized, "--backend", backend, "--calls", str(calls), "--json"]
    process = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=timeout)
    if process.returncode < 0:
        died = f"the process died of signal {-process.returncode}"
        return {"states": 0, "calls": 0, "launches": 0, "faults": [died]}
    if process.returncode > 1:
        raise RuntimeError(process.stderr)
    return json.loads(process.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reference")
    parser.add_argument("optimized")
    parser.add_argument("--backend", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--calls", type=int, default=30, help="at least as many calls (30)")
    parser.add_argument("--states", nargs="+", choices=list(STATES), help="these alone, in one process")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for each of the other processes (120)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if options.backend == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"
    if options.states:
        answer = examine(options.reference, options.optimized, options.backend, options.calls, options.states)
    else:
        answer = everything(options)
    if options.json:
        print(json.dumps(answer))
    else:
        print("\n".join(answer["faults"]))
        print("{states} states, {calls} calls, {launches} launches".format(**answer), end=": ")
        print(f"{len(answer['faults'])} faults" if answer["faults"] else "no fault")
    return 1 if answer["faults"] else 0


if __name__ == "__main__":
    sys.exit(main())
