"""Autotuned candidates: one configuration of each kernel is chosen, judged and handed out."""

import json

import pytest

import command
from command import run

CANDIDATE = """
import torch
import triton
import triton.language as tl

def config(block, **more):
    return triton.Config({"BLOCK": block}, **more)

def from_zero(args):
    args["y_ptr"].zero_()

@triton.autotune(configs=%(configs)s, key=["n"]%(extra)s)
@triton.jit
def add_sine(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    %(first)s
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    %(store)s

@triton.autotune(configs=%(copies)s, key=["n"])
@triton.jit
def copy(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    %(copied)s

class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
        add_sine[grid](x, y, x.numel())
        if %(copy)s:
            z = torch.empty_like(x)
            copy[grid](y, z, x.numel())
            return z
        return y
"""

STORE = "tl.store(y_ptr + i, tl.sin(x) + x, mask=i < n)"
COPIED = "tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)"


def candidate(configs, **changes):
    given = {"configs": configs, "copies": "[config(64), config(32)]", "extra": "", "store": STORE,
             "first": "pass", "copied": COPIED, "copy": False, **changes}
    return CANDIDATE % given


ATOMIC = "tl.atomic_add(y_ptr + i, tl.sin(x) + x, mask=i < n)"
TWO = "[config(64), config(128)]"
# name -> (text, outcome, stage that rejects, words of the reason, BLOCK of each chosen configuration)
CANDIDATES = {
    "right": (candidate(TWO), "accepted", None, [], [64]),
    "two tuners": (candidate(TWO, copy=True, copies="[config(32), config(64), config(256)]"),
                   "accepted", None, [], [64, 32]),
    # Without a GPU the first that runs is the program; nobody gets the others.
    "wrong in the last": (
        candidate("[config(64), config(128), config(256, num_warps=8)]",
                  store=STORE.replace("+ x", "+ x * (1 if BLOCK < 256 else 2)")),
        "accepted", None, [], [64]),
    "wrong in the first": (candidate(TWO, store=STORE.replace("+ x", "+ x * (BLOCK // 64 - 1)")),
                           "rejected", "correct", ["output 0"], [64]),
    "wrong in the second tuner": (
        candidate(TWO, copy=True, copied=COPIED.replace("mask=i < n)", "mask=i < n // 2)", 1),
                  copies="[config(64), config(128)]"),
        "rejected", "correct", ["output 0"], [64, 64]),
    # As Triton's autotuner, over what cannot run.
    "an assertion forbids the first": (
        candidate("[config(2048), config(64)]", first="tl.static_assert(BLOCK < 1024)"),
        "accepted", None, [], [64]),
    "all are forbidden": (candidate(TWO, first="tl.static_assert(BLOCK > 1024)"), "rejected",
                          "compile", ["static_assert"], []),
    "one of the second tuner does not compile": (
        candidate(TWO, copy=True, copies="[config(64), config(96)]"), "accepted", None, [],
        [64, 64]),
    "many": (candidate("[config(64, num_stages=s) for s in range(2, 80)]"), "accepted", None, [],
             [64]),
    "pruned": (
        candidate("[config(64, num_stages=s) for s in range(2, 80)]",
                  extra=", prune_configs_by={'early_config_prune': lambda c, a, **k: c[:2]}"),
        "accepted", None, [], [64]),
    "zeroed by each configuration": (
        candidate("[config(b, pre_hook=from_zero) for b in (64, 128)]", store=ATOMIC),
        "accepted", None, [], [64]),
    "zeroed by the first": (
        candidate("[config(64, pre_hook=from_zero), config(128)]", store=ATOMIC), "accepted",
        None, [], [64]),
    "zeroed by the second": (
        candidate("[config(64), config(128, pre_hook=from_zero)]", store=ATOMIC), "rejected",
        "correct", ["output 0"], [64]),
    # Triton resets before the first call only: the second adds to what is there.
    "zeroed in the first call": (candidate(TWO, store=ATOMIC, extra=", reset_to_zero=['y_ptr']"),
                                 "rejected", "correct", ["output 0"], [64]),
}


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("autotuned")
    (folder / "model.py").write_text(command.SINE_MODEL)
    files = {}
    for name, (text, *_) in CANDIDATES.items():
        files[name] = folder / (name.replace(" ", "_") + ".py")
        files[name].write_text(text)
    process = run("verify", folder / "model.py", *files.values(), "--backend", "cpu", "--json",
                  "--trials", 1)
    assert process.returncode == 1, process.stderr
    verdicts = command.verdicts(process)
    return {name: verdicts[path.name] for name, path in files.items()}


@pytest.mark.parametrize("name", CANDIDATES)
def test_one_configuration_is_judged(name, judged):
    _, outcome, stage, words, blocks = CANDIDATES[name]
    verdict = judged[name]
    assert (verdict["outcome"], verdict["rejected_at"]) == (outcome, stage), verdict["reason"]
    for word in words:
        assert word in verdict["reason"]
    found = verdict.get("configurations", [])
    assert [c["configuration"].split(",")[0] for c in found if c["chosen"]] == [
        "BLOCK=%d" % block for block in blocks]
    assert all(c["device_ms"] is None for c in found)  # no GPU, no time


def test_an_autotuned_reference_is_recorded_in_one_configuration(tmp_path):
    text = CANDIDATES["an assertion forbids the first"][0].replace("ModelNew", "Model")
    (tmp_path / "model.py").write_text(text + command.SINE_MODEL[command.SINE_MODEL.index("def get_inputs"):])
    process = run("record", tmp_path / "model.py", "--out", tmp_path / "out")
    assert process.returncode == 0, process.stderr
    program = json.loads((tmp_path / "out" / "program.json").read_text())
    assert [k["constexprs"] for k in program["kernels"]] == [{"3": 64}]
