"""Calls of a reference and of an export with equal weights (truth.py), counted from outside."""

import collections
import contextlib
import copy
import importlib.util
import os
import pathlib
import random
import sys
import threading
import warnings

import numpy as np
import torch
from torch.utils import _pytree as pytree

from truth_equal import Expected, Fault, Tf32, Widened, flat, wide
from truth_text import launches_of

SCALES = (1.0, 0.5, 2.0)  # of the inputs, in turn
FALLBACK_SAYS = "running the original forward"


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Run:
    """A reference and an export in this process, and what their calls have shown."""

    def __init__(self, reference, optimized, backend):
        self.device, self.seeds = torch.device(backend), 1000
        self.states = self.calls = self.launches = self.replays = 0
        self.faults, self.warned = [], []
        self.has_state = self.is_random = False
        text = pathlib.Path(optimized).read_text()
        self.steps, self.packing_steps = launches_of(text)
        own = text[text.find("class ModelNew"):]
        self.graphed = self.device.type == "cuda" and os.environ.get("KW_TRUTH_GRAPHED") == "1"
        self.guards_modes, self.guards_tables = '"training", ' in own, "_kw_are_tables(" in own
        self.reference = load(reference, "truth_reference")
        self.export = load(optimized, "truth_export")
        self.counts = collections.defaultdict(collections.Counter)  # of each thread
        if self.steps == 0:
            raise Fault("it launches no kernel")

    @contextlib.contextmanager
    def counting(self):
        """Counts launches and calls of the original forward from outside."""
        from triton.runtime.driver import driver
        from triton.runtime.interpreter import InterpretedFunction
        is_interpreted = self.device.type == "cpu"
        # On a GPU an export may launch what Triton compiled without asking Triton again.
        launcher, name = (InterpretedFunction, "run") if is_interpreted else (driver.active.launcher_cls, "__call__")
        one_at_a_time = threading.Lock() if is_interpreted else contextlib.nullcontext()
        model, launch = self.export.Model, getattr(launcher, name)
        forward = model.forward

        def counted_launch(function, *args, **kwargs):
            self.counts[threading.get_ident()]["launches"] += 1
            with one_at_a_time:
                return launch(function, *args, **kwargs)

        def counted_forward(module, *args, **kwargs):
            self.counts[threading.get_ident()]["fallbacks"] += 1
            return forward(module, *args, **kwargs)

        cuda = getattr(self.export, "_kw_Cuda", None)  # absent where nothing may be a graph
        replay = cuda and cuda.launch

        def counted_replay(*given):
            self.counts[threading.get_ident()]["replays"] += 1
            return replay(*given)

        setattr(launcher, name, counted_launch)
        model.forward = counted_forward
        if cuda:
            cuda.launch = counted_replay
        try:
            with warnings.catch_warnings(record=True) as self.warned:
                warnings.simplefilter("always")
                yield
        finally:
            setattr(launcher, name, launch)
            model.forward = forward
            if cuda:
                cuda.launch = replay

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
            model = class_(*self.reference.get_init_inputs()).to(self.device)
        choose = getattr(model, "_kw_graphed_by", None)
        if class_ is self.export.ModelNew and choose is not None:  # absent where nothing was gained
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # some can be no graph
                choose(self.graphed)
        return model

    def inputs(self, model):
        """Fresh inputs, scaled if the reference takes them so."""
        seed = self.seed()
        with torch.device(self.device):
            drawn = self.reference.get_inputs()
        drawn = pytree.tree_map(lambda x: x.to(self.device) if isinstance(x, torch.Tensor) else x, drawn)
        scale = SCALES[seed % len(SCALES)]
        scaled = pytree.tree_map(
            lambda x: x * scale if isinstance(x, torch.Tensor) and x.is_floating_point() else x, drawn)
        return scaled if scale != 1 and accepts(model, scaled) else drawn

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


def accepts(model, inputs):
    try:
        copy.deepcopy(model)(*copy.deepcopy(inputs))
        return True
    except Exception:
        return False


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
        """None if the export guards modes and these are others than as constructed, else False."""
        modes = [module.training for module in self.reference.modules()]
        return None if self.run.guards_modes and modes != self.modes else False

    def may_have_other_tables(self):
        """None if the export takes tables for granted, else False."""
        return None if self.run.guards_tables else False

    def asked(self, inputs=None):
        """A call of the reference: what the export has to give, and for what."""
        run = self.run
        inputs = run.inputs(self.reference) if inputs is None else inputs
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
        run.replays += counts["replays"]
        captured = run.graphed and counts["replays"] == 1  # launches were to compile and to capture, or none
        if fallback is False and not captured and counts["launches"] not in (run.steps, run.steps + run.packing_steps):
            raise Fault(f"launched {counts['launches']} kernels; its text launches {run.steps}")
        result.check("result", got)
        inputs.check("input", theirs)
        state.check("state", dict(self.export.state_dict()))
        self.kept.append((with_copies(result.leaves), with_copies(flat(got)[0])))

    def call(self, inputs=None, fallback=False, times=1):
        for _ in range(times):
            self.answers(self.asked(inputs), fallback)

    def check_kept(self):
        """Later calls leave earlier results as they were, unless the reference's change too."""
        for wants, gots in self.kept:
            if all(map(same, wants)) and not all(map(same, gots)):
                raise Fault("a later call changed an earlier result")
        self.kept.clear()


def with_copies(leaves):
    return [(leaf, leaf.detach().clone()) for leaf in leaves if isinstance(leaf, torch.Tensor)]


def same(pair):
    """True if two tensors hold the same bits."""
    a, b = (x.detach().contiguous().view(-1).view(torch.uint8) for x in pair)
    return torch.equal(a, b)
