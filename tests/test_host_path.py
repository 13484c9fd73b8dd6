"""The host's share of a call of an export: launches that keep what Triton compiled, and a model that is judged once.

A launcher that counts stands for the GPU: the tensors are on the CPU, and no kernel runs.
"""

import copy
import functools
import gc
import importlib
import os
import pathlib
import pickle
import re
import subprocess
import sys
import weakref

import pytest
import torch

from command import ROOT, run
from fake_gpu import Gpu, Kernel
from truth_calls import load

HOST = pathlib.Path(os.environ.get("KW_BUILD_DIR", ROOT / "build")) / "host"
HEAD = """
import torch
import torch.nn as nn


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(16))


class {cls}(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(Layer() for _ in range(12))
        self.scale = nn.Parameter(torch.tensor([1.5]))

    def forward(self, x):
        {forward}


def get_inputs():
    return [torch.randn(8, 16)]


def get_init_inputs():
    return []

"""
REFERENCE = """for layer in self.layers:
            x = torch.relu(x * layer.weight + 1)
        return x * torch.relu(self.scale)
"""
# The kernel's constant `one` stands before an argument, so calls give it by its place.
CANDIDATE = """for layer in self.layers:
            y = torch.empty_like(x)
            scaled[(1,)](x, layer.weight, 1, y, x.numel(), N=16, BLOCK=128, num_warps=2)
            x = y
        return x * torch.relu(self.scale)
"""
KERNEL = """
import triton
import triton.language as tl


@triton.jit
def scaled(x, w, one: tl.constexpr, y, n, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    inside = i < n
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=inside) * tl.load(w + i % N) + one, 0.0), mask=inside)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("host")
    (folder / "model.py").write_text(HEAD.format(cls="Model", forward=REFERENCE))
    (folder / "mine.py").write_text(HEAD.format(cls="ModelNew", forward=CANDIDATE) + KERNEL)
    done = run("verify", folder / "model.py", folder / "mine.py", "--no-time", "--backend", "cpu", "--trials", "1",
               "--out", folder / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "out"


def host_package():
    """The package of host/, as the build has it."""
    sys.path.insert(0, str(HOST))
    try:
        return importlib.import_module("kernelwright_host")
    finally:
        sys.path.remove(str(HOST))
        sys.modules.pop("kernelwright_host", None)  # other exports in this process do without


@pytest.fixture(params=["Python", "C++"])
def export(folder, monkeypatch, request):
    """The export, on a GPU that counts launches, all by launches; its checks in either language."""
    module = load(folder / "optimized.py", "host_path_export")
    module._kw_host = module._kw_Host if request.param == "Python" else host_package()
    module.gpu = Gpu(monkeypatch)
    module.gpu.take(module, monkeypatch)
    module.kernel = Kernel(module.gpu, module.scaled, lambda *_: None)
    monkeypatch.setattr(module, "_kw_graph_settings", functools.partial(module._kw_graph_settings, False))
    launches = [value for name, value in vars(module).items() if name.startswith("_kw_launch_")]
    assert len(launches) == 12
    for launch in launches:
        launch.kernel = module.kernel
    bind, module.binds = module.ModelNew._kw_bind, 0

    def counted(self, *args):
        module.binds += 1
        return bind(self, *args)
    monkeypatch.setattr(module.ModelNew, "_kw_bind", counted)
    return module


def call(model, x=None):
    with torch.no_grad():
        return model(torch.randn(8, 16) if x is None else x)


def test_compiled_kernels_are_given_what_triton_is(export):
    """Python itself says which argument is for which parameter."""
    model, x = export.ModelNew(), torch.randn(8, 16)
    call(model, x)
    assert len(export.kernel.asked) == 12 and not export.kernel.ran
    call(model, x)
    assert len(export.kernel.asked) == len(export.kernel.ran) == 12
    for (grid, asked, options), (ran_grid, ran, stream) in zip(export.kernel.asked, export.kernel.ran):
        assert ran_grid == grid == (1, 1, 1) and stream == 7 and options == {"num_warps": 2}
        assert len(asked) == len(ran) == 7
        for a, b in zip(asked, ran):  # results are new in each call
            assert a is b if not isinstance(a, torch.Tensor) or a is x else a.shape == b.shape
        assert ran[2] == 1 and ran[4:] == [128, 16, 128]


def test_each_gpu_has_its_compiled_kernels(export):
    model = export.ModelNew()
    for gpu, asked in ((0, 12), (1, 24), (0, 24), (1, 24)):
        export.gpu.number = gpu
        call(model)
        assert len(export.kernel.asked) == asked
    assert {stream for _, _, stream in export.kernel.ran} == {7, 8}


def test_addresses_that_are_not_aligned_go_to_triton(export):
    """It compiles for pointers that are multiples of 16."""
    model = export.ModelNew()
    call(model)
    assert len(export.kernel.asked) == 12
    call(model, torch.randn(8 * 16 + 1)[1:].view(8, 16))
    assert len(export.kernel.asked) == 24 and not export.kernel.ran
    model.layers[3].weight = torch.nn.Parameter(torch.randn(17)[1:])
    call(model)
    assert len(export.kernel.asked) == 36 and not export.kernel.ran
    model.layers[3].weight = torch.nn.Parameter(torch.randn(16))
    call(model)
    assert len(export.kernel.ran) == 12


@pytest.mark.parametrize("hook", ["launch_enter_hook", "launch_exit_hook"])
def test_profilers_see_each_launch(export, hook):
    model = export.ModelNew()
    call(model)
    call(model)
    chain = getattr(export._kw_triton.knobs.runtime, hook)
    watch = lambda *_: None
    chain.add(watch)
    try:
        call(model)
        assert len(export.kernel.asked) == 24 and len(export.kernel.ran) == 12
    finally:
        chain.remove(watch)
    call(model)
    assert len(export.kernel.ran) == 24


def test_interpreters_see_each_launch(export, monkeypatch):
    monkeypatch.setattr(export, "_kw_interpreted", True)
    model = export.ModelNew()
    for times in (1, 2, 3):
        call(model)
        assert len(export.kernel.asked) == 12 * times and not export.kernel.ran


def test_a_model_is_judged_once(export):
    model = export.ModelNew()
    for _ in range(5):
        call(model)
    assert export.binds == 1


def _assign(model):
    model.layers[2].weight = torch.nn.Parameter(torch.randn(16))


def _data(model):
    model.layers[2].weight.data = torch.randn(16)


def _data_of_another_layout(model):
    whole = torch.randn(16)
    model.layers[2].weight.data = whole
    call(model)
    model.layers[2].weight.data = whole.view(4, 4).t()


def _replace(model):
    model.layers[2] = copy.deepcopy(model.layers[2])


def _delete(model):
    del model.layers[2].weight
    model.layers[2].weight = torch.nn.Parameter(torch.randn(16))


def _reparametrize(model):
    torch.nn.utils.parametrize.register_parametrization(model.layers[2], "weight", torch.nn.Identity())


def _another_attribute(owner):
    """As many attributes as before."""
    def change(model):
        owner(model).note = 1
        call(model)
        del owner(model).note
        owner(model).helper = abs
    return change


def _another_dict(name):
    def change(model):
        setattr(model.layers[2], name, type(getattr(model.layers[2], name))(getattr(model.layers[2], name)))
    return change


CHANGES = {
    "a module's state": lambda model: model.layers[2].__setstate__(model.layers[3].__dict__.copy()),
    "a module's attributes": lambda model: model.layers[2].__dict__.update(model.layers[3].__dict__),
    "a module's __dict__": _another_dict("__dict__"),
    "a dict of parameters": _another_dict("_parameters"), "a dict of buffers": _another_dict("_buffers"),
    "a dict of hooks": _another_dict("_forward_hooks"),
    "a dict of modules": lambda model: setattr(model.layers, "_modules", dict(model.layers._modules)),
    "the model's dict of modules": lambda model: setattr(model, "_modules", dict(model._modules)),
    "another attribute of a module": _another_attribute(lambda model: model.layers[2]),
    "another attribute of the model": _another_attribute(lambda model: model),
    "another parameter": _assign, "another parameter's memory": _data, "another layout": _data_of_another_layout,
    "another module": _replace, "a parameter that was gone": _delete, "a parametrization": _reparametrize,
    "a copy of all memory": lambda model: model._apply(torch.clone),
    "another type and back": lambda model: model.double().float(),
    "another type": lambda model: model.double(),
    "a module list that is another": lambda model: setattr(model, "layers", torch.nn.ModuleList(model.layers)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_model_is_judged_again(export, change):
    model = export.ModelNew()
    call(model)
    CHANGES[change](model)
    before = export.binds
    call(model)
    assert export.binds == before + 1


def test_attributes_that_nobody_asks_for_may_change(export):
    model = export.ModelNew()
    for part in (model, model.layers, model.layers[2]):
        part.note = 1
    call(model)
    for number in range(3):
        for part in (model, model.layers, model.layers[2]):
            part.note = object()
        call(model)
    assert export.binds == 1


def test_what_is_called_graphed_in_a_model_stays(folder, tmp_path):
    text = (folder / "optimized.py").read_text()
    (tmp_path / "optimized.py").write_text(text.replace("class Model(nn.Module):", "class Model(nn.Module):\n    graphed = 5"))
    own = load(tmp_path / "optimized.py", "own_graphed")
    model = own.ModelNew()
    assert model.graphed == 5 and model._kw_graphed_by() is model
    assert load(folder / "optimized.py", "no_graphed").ModelNew.graphed.__name__ == "_kw_graphed_by"


def test_settings_that_may_change_in_place_are_judged_in_each_call(export):
    fixed = export._kw_Bound.is_fixed
    assert all(map(fixed, [1, 2.5, "a", None, (1, (2, "b")), torch.float32, abs]))
    partial = functools.partial(torch.clamp, min=1)
    assert not any(map(fixed, [partial, (1, (partial, 2))]))


def test_numbers_that_change_in_place_need_no_other_judgement(export):
    model = export.ModelNew()
    call(model)
    with torch.no_grad():
        model.scale.mul_(2)
    model.load_state_dict(export.ModelNew().state_dict())
    call(model)
    assert export.binds == 1


def test_other_surroundings_are_judged_again(export):
    model = export.ModelNew()
    call(model)
    for number, around in enumerate((lambda: torch.enable_grad(), lambda: torch.autocast("cpu", dtype=torch.bfloat16),
                                     lambda: torch.autograd.forward_ad.dual_level())):
        before = export.binds
        with torch.no_grad(), around():
            model(torch.randn(8, 16))
        assert export.binds == before + 1, number
        call(model)
    before = export.binds
    with torch.inference_mode():
        model(torch.randn(8, 16))
    assert export.binds == before, "gradients are off in both"


def test_copies_are_judged_for_themselves(export):
    model = export.ModelNew()
    call(model)
    before = export.binds
    for copied in (copy.copy(model), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        call(copied)
        before += 1
        assert export.binds == before
    copied = copy.copy(model)
    call(model)
    assert export.binds == before, "what was found is kept for each"


def test_old_weights_go_when_a_call_finds_others(export, monkeypatch):
    """Also if the original runs then."""
    model = export.ModelNew()
    call(model)
    export.kernel.asked.clear()
    old = weakref.ref(model.layers[2].weight)
    _assign(model)
    monkeypatch.setattr(export, "_kw_misfit", lambda tensors, expected: "another")
    with pytest.warns(UserWarning, match="another"):
        call(model)
    assert old() is None


def test_a_model_goes_when_nobody_holds_it(export):
    """And its memory with it: what is kept for the next call holds no circle."""
    model = export.ModelNew()
    call(model)
    gone, weight = weakref.ref(model), weakref.ref(model.layers[0].weight)
    export.kernel.asked.clear()
    gc.disable()
    try:
        del model
        assert gone() is None and weight() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("checks", ["Python", "C++"])
def test_host_time(folder, record_property, checks):
    """CI's log shows it: a limit would fail by other work on the machine."""
    paths = os.pathsep.join([str(HOST)] * (checks == "C++"))
    done = subprocess.run([sys.executable, ROOT / "bench/host_time.py", folder / "optimized.py"], text=True,
                          capture_output=True, env={**os.environ, "PYTHONPATH": paths})
    assert done.returncode == 0, done.stderr
    found = re.fullmatch(r"out: a call ([\d.]+) us, of 13 parameters \(([\d.]+) us a parameter\), a judged one (\d+) us, "
                         r"checks in (\S+); a launch of 5 arguments ([\d.]+) us\n", done.stdout)
    assert found and found[4] == checks and float(found[5]) > 0, done.stdout
    assert 0 < float(found[1]) < float(found[3]), "a call that is not judged again costs less"
    record_property("figures", "host time of " + done.stdout.strip())
