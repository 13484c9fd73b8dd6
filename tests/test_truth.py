"""The truth about exports (truth.py), on the CPU: exports pass, and exports that lie do not."""

import collections
import json
import os
import subprocess
import sys

import pytest
import torch

import truth
import truth_cases
import truth_equal
import truth_text
from command import ALL_TESTS, MODELS, TESTS, binary, commit, run

# Cases whose files lie: all of them, or others with each commit.
LYING = truth_cases.lying()
TRIED = sorted(LYING)
if not ALL_TESTS:
    TRIED = [TRIED[(commit() + 17 * i) % len(TRIED)] for i in range(3)]


def check(answer):
    assert answer["faults"] == []
    assert answer["states"] >= 12 and answer["calls"] >= 30 and answer["launches"] > 0


def test_a_search_gives_a_true_export(tmp_path):
    model = MODELS / "gated_norm.py"
    process = run("optimize", model, "--backend", "cpu", "--out", tmp_path / "out", "--store",
                  tmp_path / "store.sqlite", "--budget", "20s")
    assert process.returncode == 0, process.stdout + process.stderr
    check(truth.truth(model, tmp_path / "out" / "optimized.py"))


@pytest.mark.parametrize("name", TRIED)
def test_a_file_that_lies_has_a_true_export(name, tmp_path):
    check(truth.truth(*truth_cases.export_of(binary(), LYING[name], tmp_path)))


REFERENCE = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(32) + 0.5)

    def forward(self, x):
        return torch.relu(x * (self.weight * 2.0))


def get_inputs():
    return [torch.randn(16, 32)]


def get_init_inputs():
    return []
"""

# As Kernelwright writes them, without what this reference does not need.
EXPORT = REFERENCE + """
import time
import warnings
import triton
import triton.language as tl


@triton.jit
def kernel(x, weight, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.maximum(tl.load(x + at, mask=at < n) * tl.load(weight + at % 32), 0.0)
    tl.store(out + at, value, mask=at < n)


calls = 0


class ModelNew(Model):
    def _kw_derived(self):
        p = self.weight
        try:
            key = (id(p), p._version, p.untyped_storage()._cdata)
        except RuntimeError:
            key = object()
        if self.__dict__.get("_kw_key") != key:
            self.__dict__["_kw_packed"] = p * 2.0
            self.__dict__["_kw_held"] = (p, p.detach())
            self.__dict__["_kw_key"] = key
        return self.__dict__["_kw_packed"]

    def _kw_original(self, x):
        if not self.__dict__.get("_kw_warned"):
            self.__dict__["_kw_warned"] = True
            warnings.warn("ModelNew: running the original forward")
        return super().forward(x)

    def forward(self, x):
        global calls
        calls += 1
        if x.shape != (16, 32) or x.stride() != (32, 1) or torch.is_grad_enabled() and self.weight.requires_grad:
            return self._kw_original(x)
        packed = self._kw_derived()
        out = torch.empty_like(x)
        kernel[(4,)](x, packed, out, x.numel(), BLOCK=128)
        return out
"""

RETURNS = "        return out\n"
# What is wrong with an export -> (its text, what it is instead, the fault).
WRONG = {
    "weights packed once": ('self.__dict__.get("_kw_key") != key', '"_kw_key" not in self.__dict__',
                            "weights loaded: result 0"),
    "new memory overlooked": ("key = (id(p), p._version, p.untyped_storage()._cdata)", "key = id(p), p._version",
                              "parameters replaced through .data: result 0"),
    "new parameters overlooked": ("key = (id(p), p._version, p.untyped_storage()._cdata)", "key = p._version",
                                  "result 0"),
    "calls are counted": (RETURNS, "        return out if calls < 34 else out * 2\n", "many calls: result 0"),
    "zeros in evaluation": (RETURNS, "        return out if self.training else out * 0\n", "eval(): result 0"),
    "zeros in training": (RETURNS, "        return out * 0 if self.training else out\n",
                          "as constructed: result 0"),
    "zeros in inference_mode": (RETURNS, "        return out * 0 if torch.is_inference_mode_enabled() else out\n",
                                "inference_mode(): result 0"),
    "one result for all calls": ("torch.empty_like(x)", 'self.__dict__.setdefault("out", torch.empty_like(x))',
                                 "as constructed: a later call changed an earlier result"),
    "never its kernels": ("x.shape != (16, 32)", "True", "as constructed: ran the original forward"),
    "any shape": ("x.shape != (16, 32)", "False", "other arguments: ran its kernels"),
    "any strides": ("x.stride() != (32, 1)", "False", "other arguments: ran its kernels"),
    "no gradients": ("or torch.is_grad_enabled() and self.weight.requires_grad", "",
                     "other arguments: ran its kernels"),
    "no warning": ('warnings.warn("ModelNew: running the original forward")', "pass",
                   "other arguments: did not warn once"),
    "a lower precision": ("mask=at < n) *", "mask=at < n).to(tl.bfloat16).to(tl.float32) *", "result 0 is off by"),
    "a part is left out": ("[(4,)]", "[(3,)]", "as constructed: result 0 "),
    "an input is changed": (RETURNS, "        x += 0.001\n        return out\n", "as constructed: input 0"),
    "a weight is changed": (RETURNS, "        self.weight.mul_(1.001)\n        return out\n",
                            "as constructed: state 0"),
    "another dtype": (RETURNS, "        return out.double()\n", "as constructed: result 0 is (torch.float64"),
    "another structure": (RETURNS, "        return [out]\n", "as constructed: result: "),
    "an exception": (RETURNS, "        raise ValueError('no')\n", "as constructed: ValueError: no"),
    "a launch that is left out": ("        kernel[(4,)](", "        if calls % 5:\n            kernel[(4,)](",
                                 "launched 0 kernels"),
    "a place that threads share": (RETURNS, """        self.__dict__["out"] = out
        time.sleep(0.1)
        return self.__dict__["out"]
""", "threads: "),
}

EXAMINES = """
import json, pathlib, sys, truth
for path in sys.argv[2:]:
    print(json.dumps(truth.examine(sys.argv[1], path, states=[s for s in truth.STATES if s != "torch.compile"])))
"""


def examine(*paths):
    """The answers of truth.examine() for a reference and several exports."""
    process = subprocess.run([sys.executable, "-c", EXAMINES, *paths], capture_output=True, text=True,
                             env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(TESTS)})
    assert process.returncode == 0, process.stderr
    return [json.loads(line) for line in process.stdout.splitlines()]


@pytest.fixture(scope="module")
def examined(tmp_path_factory):
    """What is wrong -> the answer of examine(); "" for the export as it is."""
    folder = tmp_path_factory.mktemp("truth")
    (folder / "reference.py").write_text(REFERENCE)
    texts = {"": EXPORT, **{what: EXPORT.replace(old, new) for what, (old, new, _) in WRONG.items()}}
    assert len(set(texts.values())) == len(texts)
    paths = [folder / f"export_{i}.py" for i in range(len(texts))]
    for path, text in zip(paths, texts.values()):
        path.write_text(text)
    return dict(zip(texts, examine(folder / "reference.py", *paths)))


def test_a_right_export_has_no_fault(examined):
    answer = examined[""]
    assert answer["faults"] == []
    assert answer["states"] >= 12 and answer["calls"] >= 30
    assert answer["launches"] == answer["calls"] - 3  # three kinds of other arguments


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_export_has_a_fault(examined, what):
    faults = examined[what]["faults"]
    assert any(WRONG[what][2] in fault for fault in faults), faults


DOMAIN = REFERENCE.replace("        return torch.relu", """        if x.abs().max() > 1 or x.abs().min() < 0.75:
            raise ValueError("out of the domain")
        return torch.relu""").replace("torch.randn(16, 32)", "torch.rand(16, 32) / 4 + 0.75")


def test_inputs_stay_in_the_domain(tmp_path):
    """Scaled inputs are left out if the reference refuses them."""
    paths = [tmp_path / "reference.py", tmp_path / "right.py"]
    for path, text in zip(paths, (DOMAIN, EXPORT.replace(REFERENCE, DOMAIN))):
        path.write_text(text)
    answer = examine(*paths)[0]
    assert answer["faults"] == [] and answer["calls"] >= 30


def test_what_other_processes_show(tmp_path):
    """A file that looks at -O, and that computes without its kernels."""
    (tmp_path / "reference.py").write_text(REFERENCE)
    wrong = "print('a model may print')\n" + EXPORT.replace(RETURNS, "        return torch.relu(x * packed) * (1 if __debug__ else 2)\n")
    (tmp_path / "wrong.py").write_text(wrong)
    faults = truth.truth(tmp_path / "reference.py", tmp_path / "wrong.py")["faults"]
    assert faults[-1] == "without its stores it passes the same test"
    assert all(fault.startswith("python -O: ") for fault in faults[:-1]) and len(faults) > 1


def test_stores_are_taken_out():
    text = """
import triton

@triton.jit
def kernel(a, b, c):
    x = tl.load(a)
    tl.store(a, x)
    old = tl.atomic_add(b, x)
    same = tl.atomic_cas(b, old, x)
    c.store([0], old + same)

def store(a):
    a.store(1)
"""
    out = truth_text.without_stores(text)
    assert out.count("store") == 2 and "atomic" not in out
    assert "old = x" in out and "same = x" in out and "a.store(1)" in out
    with pytest.raises(truth_equal.Fault, match="no store"):
        truth_text.without_stores("import triton\n")


NEAR = torch.linspace(1, 2, 1000)
FURTHER = NEAR * (1 + 1e-5)
FAR = NEAR * (1 + 1e-3)
ONE, OTHER = (collections.namedtuple(name, "values indices") for name in ("Output", "Other"))
SAME_NAME = collections.namedtuple("Output", "values indices")
INFINITE = torch.tensor([1.0, float("inf"), float("nan")])


@pytest.mark.parametrize("want, got, others, equal", [
    (NEAR, NEAR * (1 + 1e-7), [NEAR.double()], True),
    (NEAR, FURTHER, [NEAR.double()], False),
    (NEAR, FURTHER, [FURTHER.double()], True),  # the reference is as far off
    (NEAR, FURTHER, [NEAR.double(), FURTHER], True),  # it is as far off on a GPU
    (NEAR, FAR, [FAR.double()], False),
    (NEAR, FURTHER, [], True),  # no oracle
    (NEAR, FAR, [], False),
    (INFINITE, INFINITE.clone(), [], True),
    (INFINITE, -INFINITE, [], False),
    (INFINITE, INFINITE.flip(0), [], False),
    (torch.arange(5), torch.arange(5), [], True),
    (torch.arange(5), torch.arange(5) + 1, [], False),
    (torch.arange(5), torch.arange(5.0), [], False),
    ({"a": 1}, {"a": 1}, [], True),
    ({"a": 1}, {"b": 1}, [], False),
    ([1], [2], [], False),
    ([1], (1,), [], False),
    (ONE(1, 2), SAME_NAME(1, 2), [], True),  # the class of another file
    (ONE(1, 2), OTHER(1, 2), [], False),
    (torch.ones(2, 2).max(0), tuple(torch.ones(2, 2).max(0)), [], True),
])
def test_what_is_equal(want, got, others, equal):
    expected = truth_equal.Expected(want, *others)
    if equal:
        expected.check("result", got)
    else:
        with pytest.raises(truth_equal.Fault):
            expected.check("result", got)


def test_tf32_keeps_10_bits():
    one, unit = torch.tensor([1.0]), 2.0 ** -10
    for offset, rounded in ((unit / 4, 0), (unit / 2, 0), (unit * 0.75, unit), (unit * 1.5, 2 * unit)):
        assert truth_equal.in_tf32(one + offset).item() == 1 + rounded
        assert truth_equal.in_tf32(-one - offset).item() == -1 - rounded
