"""The `run` job, a file in plain Python, and the `compare` job, which says whether two runs gave the same."""

import struct

import pytest

REFERENCE = """
import torch

class Model(torch.nn.Module):
    def __init__(self, width, scale=1.0):
        super().__init__()
        self.fc = torch.nn.Linear(width, 16)
        self.register_buffer("calls", torch.zeros(()))
        self.scale = scale

    def forward(self, x):
        self.calls += 1
        return torch.relu(self.fc(x)) * self.scale

def get_inputs():
    return [torch.randn(8, 32)]

def get_init_inputs():
    return {"width": 32, "scale": 2.0}
"""

KERNEL = """
import torch, triton, triton.language as tl

@triton.jit
def relu(x, y, n, scale, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.maximum(tl.load(x + i, mask=i < n), 0.0) * scale, mask=i < n)

class ModelNew(torch.nn.Module):
    def __init__(self, width, scale=1.0):
        super().__init__()
        self.first = torch.nn.Linear(width, 16)
        self.register_buffer("count", torch.zeros(()))
        self.scale = scale
        self.tried = 0

    def forward(self, x):
        self.tried += 1
        self.count += 1
        z = self.first(x)
        y = torch.empty_like(z)
        relu[(triton.cdiv(z.numel(), 64),)](z, y, z.numel(), self.scale, B=64)
        return y
"""
WEIGHTS = [["first.weight", "fc.weight"], ["first.bias", "fc.bias"], ["count", "calls"]]
OWN_WEIGHTS = [["fc.weight", "fc.weight"], ["fc.bias", "fc.bias"], ["calls", "calls"]]


def request_of(source, cls="ModelNew", weights=WEIGHTS, **changes):
    return {"kind": "run", "source": source, "file": "candidate.py", "folder": None, "class": cls, "seed": 5,
            "harness": {"source": REFERENCE, "file": "model.py", "class": "Model"}, "inputs": None,
            "weights": weights, **changes}


@pytest.fixture
def run(client):
    def run(source, **changes):
        return client.run(request_of(source, **changes))
    return run


@pytest.fixture
def compare(client):
    """The reply of a comparison of two runs; calls of the second are cut to `calls`."""
    def compare(ours, theirs):
        return client.run({"kind": "compare", "ours": ours[0]["calls"], "theirs": theirs[0]["calls"],
                           "blobs_of_ours": len(ours[1])}, [*ours[1], *theirs[1]])[0]
    return compare


@pytest.fixture(scope="module")
def reference(client):
    """A run of the reference with a kernel in it, as an export is."""
    export = REFERENCE.replace("import torch\n", KERNEL[:KERNEL.index("class ModelNew")], 1).replace(
        "        return torch.relu(self.fc(x)) * self.scale\n", KERNEL[KERNEL.index("        z ="):].replace("first", "fc"))
    reply, blobs = client.run(request_of(export, "Model", OWN_WEIGHTS))
    assert reply["status"] == "ok" and reply["raised"] is None and len(reply["calls"]) == 6, reply
    assert set(reply["calls"][0]) == {"result", "state calls", "use of kernels"}
    return reply, blobs


def test_a_file_is_run_with_the_references_weights_and_inputs(run, compare, reference):
    found = run(KERNEL)
    assert found[0]["raised"] is None
    assert compare(reference, found) == {"status": "ok", "difference": "", "sandbox": found[0]["sandbox"]}


def test_two_runs_are_equal_to_the_bit(run, reference):
    assert run(KERNEL)[1] == reference[1]


def test_a_file_that_launches_no_kernel_does_something_else(run, compare, reference):
    found = run(REFERENCE, cls="Model", weights=OWN_WEIGHTS)
    assert found[1] == reference[1]
    assert compare(reference, found)["difference"] \
        == "call 1 (as constructed): use of kernels is none instead of some"


@pytest.mark.parametrize("change, says", [
    (("* scale, mask", "* scale * 1.01, mask"), "call 1 (as constructed): result is off by"),
    (("        self.tried += 1\n", "        self.tried += 1\n        x = x * (self.tried < 4)\n"), "call 4 (as constructed): result"),
    (("self.first(x)", "torch.nn.functional.linear(x, self.kept(), self.first.bias)"), "call 5 (weights changed): result"),
    (("return y", "return y, y"), "call 1 (as constructed): result is another structure"),
    (("return y", "return y.half()"), "call 1 (as constructed): result is float16 [8, 16] instead of float32 [8, 16]"),
    (("return y", "return y[:4]"), "call 1 (as constructed): result is float32 [4, 16] instead of"),
    (("return y", "return float(y.sum())"), "call 1 (as constructed): result is another structure"),
    (("return y", "return y / 0"), "call 1 (as constructed): result has NaN or infinity elsewhere"),
    (("return y", "return 3"), "call 1 (as constructed): result is another structure"),
    (("self.count += 1", "pass"), "call 1 (as constructed): state calls is not changed"),
    (("self.count += 1", "self.count += 2"), "call 1 (as constructed): state calls is off"),
    (("return y", "x.zero_(); return y"), "call 1 (as constructed): argument 0 is changed"),
])
def test_what_a_file_does_otherwise_is_told(run, compare, reference, change, says):
    packs = """
    def kept(self):
        if not hasattr(self, "packed"):
            self.packed = self.first.weight.clone()
        return self.packed
"""
    found = run(KERNEL.replace(*change) + packs)
    assert found[0]["raised"] is None
    assert compare(reference, found)["difference"].startswith(says)


@pytest.mark.parametrize("change, calls, says", [
    (("z = self", "assert x.is_cuda, 'needs a GPU'\n        z = self"), 0, "AssertionError: needs a GPU"),
    (("empty_like(z)", "empty_like(z, device='cuda')"), 0, ""),
    (("self.tried += 1\n", "self.tried += 1\n        if self.tried == 3: raise SystemExit(0)\n"), 2, "SystemExit: 0"),
    (("import torch", "import torch, no_such_module"), 0, "ModuleNotFoundError"),
    (("class ModelNew", "class Other"), 0, "Refused: the file defines no ModelNew"),
    (("import torch", "import (torch"), 0, "Refused"),
    (("self.first = ", "self.second = "), 0, "KeyError: 'first.weight'"),
])
def test_what_a_file_raises_is_told(run, change, calls, says):
    reply = run(KERNEL.replace(*change))[0]
    assert reply["status"] == "ok" and len(reply["calls"]) == calls and reply["raised"].startswith(says), reply


def test_nothing_stands_in(run):
    reply = run("""
import builtins, sys, torch
assert type is builtins.type and not torch.cuda.is_available()
assert not any(name in sys.modules for name in ("recorder", "plain", "standins"))
""" + KERNEL.replace("z = self", "assert type(x) is torch.Tensor and float(x.sum()) != 0\n        z = self"))[0]
    assert reply["raised"] is None


def test_the_data_is_drawn_before_the_file_is_loaded(run, compare, reference):
    """A file that changes the generators, or the reference's functions, gets the same data."""
    found = run("import sys, torch\ntorch.manual_seed(1)\ntorch.randn = torch.zeros\n"
                "sys.modules['_kernelwright_source_harness'].get_inputs = None\n" + KERNEL)
    assert found[0]["raised"] is None and compare(reference, found)["difference"] == ""


def test_a_reference_that_needs_a_gpu_is_refused(client):
    request = request_of(KERNEL)
    request["harness"]["source"] = REFERENCE.replace("randn(8, 32)", "randn(8, 32, device='cuda')")
    reply = client.run(request)[0]
    assert reply["status"] == "refused" and reply["message"].startswith("the reference does not run on a CPU: ")


def test_of_several_configurations_the_first_is_taken(run, compare, reference):
    tuned = KERNEL.replace("@triton.jit", "@triton.autotune([triton.Config({'B': b}) for b in (32, 64)], key=['n'])"
                           "\n@triton.jit").replace(", B=64", "").replace("(triton.cdiv(z.numel(), 64),)",
                                                                       "lambda m: (triton.cdiv(z.numel(), m['B']),)")
    found = run(tuned)
    assert found[0]["raised"] is None and compare(reference, found)["difference"] == ""


FRAGMENT = """
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x, places, flags):
        assert set(places.flatten().tolist()) <= {0, 1} and x.stride() == (1, 8)
        return x[places] * flags
"""


def test_a_fragment_gets_random_arguments(client):
    def value(dtype, shape, strides, storage):
        return {"dtype": dtype, "shape": shape, "strides": strides, "offset": 0, "storage": storage}
    reply, blobs = client.run(request_of(FRAGMENT, harness=None, weights=[], inputs=[
        value("float32", [8, 4], [1, 8], 0), value("int64", [5], [1], 1), value("bool", [4], [1], 2)]))
    assert reply["raised"] is None and [len(blob) for blob in blobs] == [80] * 6 and len(set(blobs)) == 6


LEAF = {"dtype": "float32", "shape": [1], "blob": 0}


@pytest.mark.parametrize("theirs, blobs", [
    ([], []),
    ([{"result": LEAF}], [b"123"]),
    ([{"result": LEAF}], []),
    ([{"result": {**LEAF, "blob": -5}}], [b"1234"]),
    ([{"result": {**LEAF, "dtype": "nn"}}], [b"1234"]),
    ([{"result": {**LEAF, "dtype": "__name__"}}], [b"1234"]),
    ([{"result": {**LEAF, "shape": [-1, -1]}}], [b"1234"]),
    ([{"result": {**LEAF, "shape": [True]}}], [b"1234"]),
    ([{"result": {**LEAF, "shape": "1"}}], [b"1234"]),
    ([{"result": LEAF}] * 2, [b"1234"]),
    (["result"], [b"1234"]),
    ([{"result": [LEAF]}], [b"1234"]),
    ("result", []),
    (None, []),
])
def test_nonsense_has_no_answer(client, theirs, blobs):
    reply, _ = client.run({"kind": "compare", "ours": [{"result": LEAF}], "theirs": theirs, "blobs_of_ours": 1},
                          [struct.pack("f", 1), *blobs])
    assert reply["status"] == "failed" or reply["difference"], reply


def test_nonsense_that_nests_has_no_answer(client):
    tree = LEAF
    for _ in range(200):
        tree = {"type": "list", "items": [["0", tree]]}
    reply, _ = client.run({"kind": "compare", "ours": [{"result": tree}], "theirs": [{"result": tree}],
                           "blobs_of_ours": 1}, [struct.pack("f", 1)] * 2)
    assert reply["status"] == "failed" and "nests too deeply" in reply["message"]
