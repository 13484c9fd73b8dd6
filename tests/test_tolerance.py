"""Where `--tolerance kernelbench` and the calibrated rule disagree, and who is right.

The arbiter has nothing from the judge: candidates run in Triton's own interpreter, and numpy works
out in float64 what they should have answered. A wrong candidate is one whose error against that is
far beyond the reference's own; a right one errs no more than the reference does.
"""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

import numpy
import pytest

from command import run

HEAD = """
import torch
import torch.nn as nn
import triton
import triton.language as tl
"""


@dataclasses.dataclass
class Case:
    name: str
    model: str      # body of Model.forward(self, *inputs), and get_inputs
    inputs: str
    kernel: str
    call: str       # body of ModelNew.forward
    exact: object   # the answer in float64, from float64 inputs

    def sources(self):
        tail = f"\n\ndef get_inputs():\n    return {self.inputs}\n\n\ndef get_init_inputs():\n    return []\n"
        forward = "class {}(nn.Module):\n    def forward(self, *inputs):\n        {}\n"
        indent = "\n        ".join
        model = HEAD + forward.format("Model", indent(self.model.splitlines())) + tail
        candidate = HEAD + self.kernel + forward.format("ModelNew", indent(self.call.splitlines()))
        return model, candidate


def softmax(x):
    e = numpy.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


ROWS = """y = torch.empty_like(inputs[0])
kernel[(inputs[0].shape[0],)](inputs[0], y, inputs[0].shape[1], B=1024)
return y"""

ACCEPTED_THERE = [  # wrong, and within 1e-2
    Case("small_answers_as_zeros", "return torch.softmax(inputs[0], -1)", "[torch.rand(8, 1024)]", """
@triton.jit
def kernel(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * n + i, mask=i < n, other=0.0)
    tl.store(y + tl.program_id(0) * n + i, v * 0.0, mask=i < n)

""", ROWS, softmax),
    Case("half_operands", "return inputs[0] @ inputs[1]", "[torch.randn(32, 128), torch.randn(128, 32) * 0.1]", """
@triton.jit
def kernel(a, b, y, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    u = tl.load(a + m[:, None] * K + k[None, :]).to(tl.float16)
    v = tl.load(b + k[:, None] * N + n[None, :]).to(tl.float16)
    tl.store(y + m[:, None] * N + n[None, :], tl.dot(u, v))

""", """y = torch.empty(32, 32, device=inputs[0].device)
kernel[(1,)](*inputs, y, M=32, N=32, K=128)
return y""", lambda a, b: a @ b),
    Case("small_term_left_out", "return inputs[0] + 0.004 * torch.sin(inputs[0])", "[torch.randn(8, 1024)]", """
@triton.jit
def kernel(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * n + i, mask=i < n, other=0.0)
    tl.store(y + tl.program_id(0) * n + i, v + 0.0, mask=i < n)

""", ROWS, lambda x: x + 0.004 * numpy.sin(x)),
    Case("integers_off_by_one", "return inputs[0] * 3",
         "[torch.randint(1000, 2000, (8, 1024), dtype=torch.int32)]", """
@triton.jit
def kernel(x, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + tl.program_id(0) * n + i, mask=i < n, other=0)
    tl.store(y + tl.program_id(0) * n + i, v * 3 + 1, mask=i < n)

""", ROWS, lambda x: x * 3),
]

REFUSED_THERE = [  # right, and not within 1e-2 of a reference that errs as much, or more
    Case("large_terms_that_cancel", "return torch.cat([inputs[0], inputs[1] - inputs[0]], 1).sum(1)",
         "[torch.randn(64, 512) * 1e4, torch.randn(64, 512)]", """
@triton.jit
def kernel(a, b, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    u = tl.load(a + tl.program_id(0) * n + i, mask=i < n, other=0.0)
    v = tl.load(b + tl.program_id(0) * n + i, mask=i < n, other=0.0)
    s = tl.sum(u.to(tl.float64) + (v - u).to(tl.float64), 0)
    tl.store(y + tl.program_id(0), s.to(tl.float32))

""", """y = torch.empty(64, device=inputs[0].device)
kernel[(64,)](*inputs, y, 512, B=512)
return y""", lambda a, b: numpy.concatenate([a, b - a], 1).sum(1)),
    Case("fused_in_single_precision", "return (inputs[0] + inputs[1]) - inputs[1]",
         "[torch.randn(8, 1024).to(torch.bfloat16), (torch.randn(8, 1024) * 64).to(torch.bfloat16)]", """
@triton.jit
def kernel(a, b, y, n, B: tl.constexpr):
    i = tl.arange(0, B)
    u = tl.load(a + tl.program_id(0) * n + i, mask=i < n, other=0.0).to(tl.float32)
    v = tl.load(b + tl.program_id(0) * n + i, mask=i < n, other=0.0).to(tl.float32)
    tl.store(y + tl.program_id(0) * n + i, ((u + v) - v).to(tl.bfloat16), mask=i < n)

""", """y = torch.empty_like(inputs[0])
kernel[(8,)](*inputs, y, 1024, B=1024)
return y""", lambda a, b: a + b - b),
]

MEASURE = """
import importlib.util, sys, numpy, torch
def load(path):
    spec = importlib.util.spec_from_file_location("part", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
torch.manual_seed(3)
model = load(sys.argv[1])
inputs = model.get_inputs()
answers = model.Model()(*inputs), load(sys.argv[2]).ModelNew()(*inputs)
numpy.savez(sys.argv[3], *[t.double().numpy() for t in (*answers, *inputs)])
"""


def measured_errors(case, model, candidate, folder):
    """Root mean square errors of Model and ModelNew against float64, relative to its own."""
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    subprocess.run([sys.executable, "-c", MEASURE, model, candidate, folder / "out.npz"], check=True,
                   env=environment, timeout=120)
    with numpy.load(folder / "out.npz") as stored:
        arrays = [stored[name] for name in stored.files]
    exact = case.exact(*arrays[2:])
    scale = numpy.sqrt(numpy.mean(exact**2))
    return [numpy.sqrt(numpy.mean((a - exact) ** 2)) / scale for a in arrays[:2]]


def judged(model, candidate, tolerance):
    process = run("verify", model, candidate, "--backend", "cpu", "--tolerance", tolerance, "--json")
    verdict = json.loads(process.stdout)
    assert verdict["outcome"] == "accepted" or verdict["rejected_at"] == "correct", verdict
    return verdict["outcome"] == "accepted"


def outcome_of(case, folder):
    model, candidate = folder / "model.py", folder / "candidate.py"
    for path, text in zip((model, candidate), case.sources()):
        path.write_text(text)
    published = judged(model, candidate, "kernelbench")
    calibrated = judged(model, candidate, "calibrated")
    return published, calibrated, measured_errors(case, model, candidate, folder)


@pytest.mark.parametrize("case", ACCEPTED_THERE, ids=lambda case: case.name)
def test_wrong_ones_that_a_fixed_tolerance_accepts(case, tmp_path):
    published, calibrated, (reference, candidate) = outcome_of(case, tmp_path)
    assert candidate > 1e-4 and candidate > 100 * reference
    assert published and not calibrated


@pytest.mark.parametrize("case", REFUSED_THERE, ids=lambda case: case.name)
def test_right_ones_that_a_fixed_tolerance_refuses(case, tmp_path):
    published, calibrated, (reference, candidate) = outcome_of(case, tmp_path)
    assert candidate <= reference
    assert not published and calibrated
