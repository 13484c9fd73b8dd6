"""`verify --run-file`: whether a candidate's own file does in plain Python what the judged program does."""

import json

import pytest

from command import run

MODEL = """
import torch

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(32, 16)

    def forward(self, x):
        return torch.relu(self.fc(x))

def get_inputs():
    return [torch.randn(8, 32)]

def get_init_inputs():
    return []
"""

HONEST = """
import torch
import triton
import triton.language as tl

@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + at, tl.maximum(tl.load(x + at, mask=at < n), 0.0), mask=at < n)

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(32, 16)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        z = self.layer(x)
        y = torch.empty_like(z)
        relu[(triton.cdiv(z.numel(), 64),)](z, y, z.numel(), BLOCK=64)
        return y
"""


def but(before, after):
    assert before in HONEST
    return HONEST.replace(before, after)


CANDIDATES = {
    "honest": (HONEST, "same", ""),
    # Recorded three times: what it does from the fourth call on no recording sees.
    "counts": (but("return y", "return y if self.calls < 4 else y * 2"), "other", "call 4 (as constructed): "),
    "knows": (but("return y", "return y if x.__class__.__name__ != 'Tensor' else y + 1"), "other", "call 1 "),
    "stops": (but("z = self.layer(x)", "if self.calls > 4:\n            return torch.relu(self.layer(x))\n"
                                       "        z = self.layer(x)"),
              "other", "call 5 (weights changed): use of kernels is none instead of some"),
    # Of the weights that it was constructed with: the program follows the weights, and this does not.
    "copies": (but("self.calls = 0", "self.calls = 0\n        self.w = self.layer.weight.detach().clone()")
               .replace("self.layer(x)", "torch.nn.functional.linear(x, self.w, self.layer.bias)"),
               "other", "call 5 (weights changed): "),
    "gpu": (but("z = self", "assert type(x).__name__ != 'Tensor' or x.is_cuda, 'no GPU'\n        z = self"),
            "not tried", "AssertionError: no GPU"),
    "raises": (but("z = self", "assert self.calls != 5, 'enough'\n        z = self"),
               "other", "call 5 raises AssertionError: enough"),
    "hangs": (but("z = self", "while self.calls == 5: pass\n        z = self"), "not tried", "took longer than 10 s"),
    # More than an answer may have, or than can be sent in the time.
    "floods": (but("return y", "return y if self.calls < 4 else y.repeat(1 << 20, 1)"), "not tried", "(candidate): "),
    "wrong": (but("return y", "return y * 2"), "not tried", ""),
}


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """One batch of all: id -> result."""
    folder = tmp_path_factory.mktemp("own_file")
    batch = folder / "batch.jsonl"
    batch.write_text("".join(
        json.dumps({"id": name, "reference_text": MODEL, "candidate_text": text}) + "\n"
        for name, (text, _, _) in CANDIDATES.items()))
    process = run("verify", "--backend", "cpu", "--jobs", 2, "--trials", 1, "--batch", batch, "--run-file",
                  "--file-timeout", 10)
    assert process.returncode == 0, process.stdout + process.stderr
    lines = (folder / "batch.jsonl.results.jsonl").read_text().splitlines()
    return {line["id"]: line for line in map(json.loads, lines)}


@pytest.mark.parametrize("name", CANDIDATES)
def test_what_the_file_does_is_said_and_decides_nothing(judged, name):
    line, (_, file, reason) = judged[name], CANDIDATES[name]
    assert line["outcome"] == ("rejected" if name == "wrong" else "accepted"), line["reason"]
    assert line["file"] == file and reason in line["file_reason"], line["file_reason"]
    assert bool(line["file_reason"]) == (file != "same" and name != "wrong")


def test_files_of_one_program_are_run_each(judged):
    assert judged["honest"]["program"] == judged["counts"]["program"] == judged["raises"]["program"]
    assert all(line["same_as"] is None for line in judged.values())


def test_a_single_verdict_says_it_too(tmp_path):
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "new.py").write_text(CANDIDATES["counts"][0])
    asked = run("verify", tmp_path / "model.py", tmp_path / "new.py", "--backend", "cpu", "--trials", 1, "--run-file")
    assert asked.returncode == 0
    assert "in plain Python the file does something else: call 4 (as constructed): result" in asked.stdout
    plain = run("verify", tmp_path / "model.py", tmp_path / "new.py", "--backend", "cpu", "--trials", 1, "--json")
    verdict = json.loads(plain.stdout)
    assert (verdict["outcome"], verdict["file"], verdict["file_reason"]) == ("accepted", "not tried", "")


@pytest.mark.parametrize("value", [0, -1, "x"])
def test_a_timeout_is_a_number_of_seconds(value):
    assert run("verify", "m.py", "c.py", "--run-file", "--file-timeout", value).returncode == 2
