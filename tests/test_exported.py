"""When optimized.py runs its own steps and when the original, in plain PyTorch on the CPU."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import types
import warnings

import pytest
import torch

from command import DOUBLED_MODEL, MODELS, derived, run

TREES = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(32))

    def forward(self, batch, pair, scale, floor, mask=None):
        y = torch.sigmoid(batch["x"] * self.weight) * scale
        y = y if floor < 0 else y + floor
        y = y if mask is None else y * mask
        y = y + batch["extra"] if "extra" in batch else y
        return {"y": y, "both": torch.tanh(pair[0]) + pair[1]}


def get_inputs():
    x = torch.randn(16, 32)
    return [{"x": x}, [x, x], 2.0, float("-inf"), None]


def get_init_inputs():
    return []
"""


def optimized(model, folder):
    process = run("optimize", model, "--backend", "cpu", "--out", folder / "out", "--store",
                  folder / "store.sqlite", "--budget", "20s")
    assert process.returncode == 0 and "verified" in process.stdout, process.stdout + process.stderr
    path = folder / "out" / "optimized.py"
    spec = importlib.util.spec_from_file_location("optimized_under_test", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SHARED = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(32, 32)
        self.b = nn.Linear(32, 32)
        self.b.weight = self.a.weight

    def forward(self, x, y):
        a = torch.sin(y)
        x.mul_(2)
        return torch.tanh(self.b(self.a(a + torch.cos(y)))) + x


def get_inputs():
    return [torch.randn(16, 32), torch.randn(16, 32)]


def get_init_inputs():
    return []
"""


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trees")
    (folder / "model.py").write_text(TREES)
    return optimized(folder / "model.py", folder)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shared")
    (folder / "model.py").write_text(SHARED)
    return optimized(folder / "model.py", folder)


@pytest.fixture(scope="module")
def folded(tmp_path_factory):
    return optimized(MODELS / "folded_norm.py", tmp_path_factory.mktemp("folded"))


class Fits(Exception):
    """The arguments are those that were recorded, up to what their tensors are like."""


def runs_own_steps(module, monkeypatch, *args, **kwargs):
    def misfit(tensors, expected):
        raise Fits

    monkeypatch.setattr(module, "_kw_misfit", misfit)
    model = module.ModelNew()
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = model(*args, **kwargs)
    except Fits:
        return True
    wanted = module.Model()(*args, **kwargs)
    assert list(got) == list(wanted)
    assert all(torch.equal(got[key], wanted[key]) for key in wanted)
    return False


X = torch.randn(16, 32)
# what differs from the recorded call -> the call
OTHER_CALLS = {
    "another tensor in the place of one given twice":
        [{"x": X}, [X.clone(), X], 2.0, float("-inf"), None],
    "one more key": [{"x": X, "extra": X}, [X, X], 2.0, float("-inf"), None],
    "another number": [{"x": X}, [X, X], 3.0, float("-inf"), None],
    "an integer": [{"x": X}, [X, X], 2, float("-inf"), None],
    "a tensor for a number": [{"x": X}, [X, X], X, float("-inf"), None],
    "a finite number for an infinite one": [{"x": X}, [X, X], 2.0, 1.0, None],
    "a tensor for None": [{"x": X}, [X, X], 2.0, float("-inf"), X],
    "a tuple for a list": [{"x": X}, (X, X), 2.0, float("-inf"), None],
    "a tensor for a list": [{"x": X}, torch.stack([X, X]), 2.0, float("-inf"), None],
}


def test_the_recorded_call_runs_the_steps(trees, monkeypatch):
    assert runs_own_steps(trees, monkeypatch, {"x": X}, [X, X], 2.0, float("-inf"), None)


NAMED = {"batch": {"x": X}, "pair": [X, X], "scale": 2.0, "floor": float("-inf"), "mask": None}


@pytest.mark.parametrize("by_place", range(5))
def test_arguments_may_come_by_name(trees, monkeypatch, by_place):
    names = list(NAMED)
    by_name = {name: NAMED[name] for name in reversed(names[by_place:])}
    assert runs_own_steps(trees, monkeypatch, *[NAMED[name] for name in names[:by_place]], **by_name)


def test_arguments_by_name_that_were_not_recorded_run_the_original(trees, monkeypatch):
    assert not runs_own_steps(trees, monkeypatch, **{**NAMED, "scale": 3.0})
    assert not runs_own_steps(trees, monkeypatch, **{name: NAMED[name] for name in list(NAMED)[:4]})
    for more in ({"mask": None}, {"other": X}):  # twice, and none of forward's
        with pytest.raises(TypeError):
            runs_own_steps(trees, monkeypatch, *NAMED.values(), **more)


@pytest.mark.parametrize("what", OTHER_CALLS)
def test_other_arguments_run_the_original(trees, monkeypatch, what):
    assert not runs_own_steps(trees, monkeypatch, *OTHER_CALLS[what])


def test_results_keep_the_order_of_their_keys(trees):
    """Recording them again is part of optimize: the file's steps return them like the original."""
    text = open(trees.__file__).read()
    steps = text[text.index("class ModelNew"):]
    assert steps.index('"y": ') < steps.index('"both": ')


def test_a_number_for_a_tensor_runs_the_original(trees):
    name = trees.ModelNew._kw_expected[0][0]
    assert trees._kw_misfit((2.0,), trees.ModelNew._kw_expected[:1]) == name + " is no tensor"


def test_autocast_runs_the_original(trees, monkeypatch):
    """It would have the original compute in another dtype."""
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(trees, "_kw_judged", {0: True})
    assert trees._kw_misfit((), ()) is None
    torch.set_autocast_enabled("cuda", True)
    try:
        assert "autocast" in trees._kw_misfit((), ())
    finally:
        torch.set_autocast_enabled("cuda", False)


def test_another_kind_of_gpu_runs_the_original(trees, monkeypatch):
    """The kernels are judged on one, which had certain properties."""
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    for capability, matches in (((9, 0), True), ((10, 0), False), ((9, 1), False)):
        monkeypatch.setattr(trees, "_kw_judged", {})
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: types.SimpleNamespace(
            major=capability[0], minor=capability[1]))
        assert (trees._kw_misfit((), ()) is None) == matches


def test_memory_shared_otherwise_runs_the_original(shared, monkeypatch):
    """Arguments that overlap what forward writes to, and a tie that was cut."""
    def where(call):
        raise Fits

    monkeypatch.setattr(shared, "_kw_interpreted", True)  # no GPU is asked
    monkeypatch.setattr(shared, "_kw_misfit", lambda tensors, expected: None)
    monkeypatch.setattr(shared.ModelNew, "_kw_original", lambda *_: "original")
    taken = re.search(r"\((.*)\) = tensors", pathlib.Path(shared.__file__).read_text())[1]
    monkeypatch.setattr(shared.ModelNew, "_kw_derived", lambda *_: [None] * taken.count("d"))
    monkeypatch.setattr(shared._kw_Call, "where", where)

    def runs(x, y):
        try:
            return model(x, y)
        except Fits:
            return "steps"

    model = shared.ModelNew()
    x, y = torch.randn(16, 32), torch.randn(16, 32)
    assert runs(x, y) == "steps"
    assert runs(x, x) == "original"
    both = torch.randn(17, 32)
    assert runs(both[:16], both[1:]) == "original"
    model.b.weight = torch.nn.Parameter(torch.randn(32, 32))
    assert runs(x, y) == "original"


def test_weights_are_packed_again_for_other_tensors_at_the_same_address(folded):
    """A new parameter may get the id of one that is gone, and its version."""
    model = folded.ModelNew()
    with torch.no_grad():
        derived(model)
        held = {id(p) for p in model.state_dict(keep_vars=True).values()}
        for _ in range(50):
            model.conv.weight = torch.nn.Parameter(torch.randn_like(model.conv.weight))
            assert id(model.conv.weight) not in held


def test_inference_tensors_are_packed_too(folded):
    """They count no versions, so nothing tells whether what was packed is still right."""
    with torch.inference_mode():
        model = folded.ModelNew()
        first = derived(model)
        model.conv.weight.mul_(2)
        again = derived(model)
        assert not all(torch.equal(a, b) for a, b in zip(again, first, strict=True))


# What PyTorch calls write under a tensor without a new version -> the call.
QUIET_WRITES = {
    "a type and back": lambda model: model.bfloat16().float(),
    "vector_to_parameters": lambda model: torch.nn.utils.vector_to_parameters(
        2 * torch.nn.utils.parameters_to_vector(model.parameters()), model.parameters()),
    "set_": lambda model: model.conv.weight.set_(torch.randn_like(model.conv.weight)),
    ".data": lambda model: setattr(model.conv.weight, "data", torch.randn_like(model.conv.weight)),
}


@pytest.mark.parametrize("what", QUIET_WRITES)
def test_weights_are_packed_again_when_they_get_other_memory(folded, what):
    with torch.no_grad():
        model = folded.ModelNew()
        model.conv.weight.uniform_(-1, 1)
        first = [t.clone() for t in derived(model)]
        for _ in range(3):  # memory that is freed is what is allocated next
            QUIET_WRITES[what](model)
        other = folded.ModelNew()
        other.load_state_dict(model.state_dict())
        wanted = derived(other)
        assert all(torch.equal(a, b) for a, b in zip(derived(model), wanted, strict=True))
        assert not all(torch.equal(a, b) for a, b in zip(first, wanted, strict=True))


ATTENTION = """
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, q, k, v, mask):
        y = F.scaled_dot_product_attention(q, k, v, mask)
        return torch.tanh(y.exp() * 2 + 1).softmax(-1), y.transpose(1, 2).flatten(2)


def get_inputs():
    return [torch.randn(2, 4, 16, 8) for _ in range(3)] + [torch.randn(2, 1, 16, 16)]


def get_init_inputs():
    return []
"""


def test_results_in_another_layout_than_recorded_are_laid_out_for_the_kernels(tmp_path):
    """On the GPU attention returns [batch, length, heads, width] transposed, here it does not: the
    steps behind it read it by the strides that were recorded."""
    (tmp_path / "model.py").write_text(ATTENTION)
    module = optimized(tmp_path / "model.py", tmp_path)
    source = (tmp_path / "out" / "optimized.py").read_text()
    assert source.count("= _kw_laid_out(") == 1  # each result once, and only where it matters
    x = torch.randn(2, 4, 16, 8)
    laid_out = module._kw_laid_out(x, (512, 8, 32, 1))
    assert laid_out.stride() == (512, 8, 32, 1) and torch.equal(laid_out, x)
    assert module._kw_laid_out(x, x.stride()) is x
    one = torch.randn(1, 8)
    assert module._kw_laid_out(one, (1, 1)) is one  # a stride of one element says nothing


# Running the original warns.
INTERPRETED = """
import warnings
import torch
import optimized

warnings.simplefilter("error")
model, inputs = optimized.ModelNew(*optimized.get_init_inputs()).eval(), optimized.get_inputs()
with torch.no_grad():
    torch.testing.assert_close(model(*inputs), optimized.Model.forward(model, *inputs))
"""


def interpreted(folder, flag):
    return subprocess.run([sys.executable, "-c", INTERPRETED], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "TRITON_INTERPRET": flag})


def test_kernels_run_on_the_cpu_under_tritons_interpreter(tmp_path):
    (tmp_path / "model.py").write_text(DOUBLED_MODEL)
    source = pathlib.Path(optimized(tmp_path / "model.py", tmp_path).__file__).read_text()
    assert "@triton.jit" in source and "device=_kw_device" in source
    done = interpreted(tmp_path / "out", "1")
    assert done.returncode == 0, done.stderr
    original = interpreted(tmp_path / "out", "0")
    assert original.returncode != 0 and "running the original" in original.stderr


def test_packed_weights_are_made_on_the_cpu_under_tritons_interpreter(folded):
    done = interpreted(pathlib.Path(folded.__file__).parent, "1")
    assert done.returncode == 0, done.stderr
