"""What verify --out writes is recorded again, and must be the Program that was judged. The kinds here
were found in kernels of libraries, where it was another one."""

import json

import pytest

from command import run

MODEL = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2
def get_inputs():
    return [torch.randn(64)]
"""
CANDIDATE = """
import torch
import triton
import triton.language as tl
{decorator}
def double(x, y, n{parameter}, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        {before}
        y = torch.empty_like(x)
        double[(1,)](x, y, x.numel(){argument}, BLOCK=64)
        return y
"""
PLAIN = {"decorator": "@triton.jit", "parameter": "", "before": "pass", "argument": ""}
KINDS = {
    "not specialized": {"decorator": "@triton.jit(do_not_specialize=['n'])"},
    "not specialized by place": {"decorator": "@triton.jit(do_not_specialize=[2])"},
    "not specialized on alignment": {"decorator": "@triton.jit(do_not_specialize_on_alignment=['x', 'n'])"},
    "a parameter named like an option": {"parameter": ", num_stages: tl.constexpr", "argument": ", num_stages=2"},
    "a constant that a dropped step used first": {
        "parameter": ", ends", "argument": ", ends",
        "before": "ends = torch.tensor([0, 64], device=x.device); ends[1:] - ends[:-1]"},
    "a constant without elements": {
        "parameter": ", none", "argument": ", none", "before": "none = torch.tensor([], device=x.device)"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_exports_record_as_what_was_judged(tmp_path, kind):
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "candidate.py").write_text(CANDIDATE.format(**{**PLAIN, **KINDS[kind]}))
    done = run("verify", tmp_path / "model.py", tmp_path / "candidate.py", "--no-time", "--backend", "cpu",
               "--trials", "1", "--json", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["outcome"] == "accepted"
    assert (tmp_path / "out/optimized.py").exists()


HOOKED = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_pre_hook(lambda module, given: ({given},))
    def forward(self, x):
        return x
def get_inputs():
    return [torch.randn(64)]
"""


@pytest.mark.parametrize("given, words", [
    ("given[0] * 2", ["a call of the model is more than its class's forward"]),
    ("given[0].view(1, 64) * 2", ["a call of the model is more", "running the original forward, because x has"])])
def test_a_rejection_says_why_an_export_records_as_another_program(tmp_path, given, words):
    (tmp_path / "model.py").write_text(HOOKED.format(given=given))
    before = "x = x.view(1, 64)" if "view" in given else "pass"
    (tmp_path / "candidate.py").write_text(CANDIDATE.format(**{**PLAIN, "before": before}))
    done = run("verify", tmp_path / "model.py", tmp_path / "candidate.py", "--no-time", "--backend", "cpu",
               "--trials", "1", "--out", tmp_path / "out")
    assert done.returncode == 1, done.stdout + done.stderr
    assert all(word in done.stdout for word in ["does not record as the program that was judged", *words]), done.stdout
