"""Runs the command line for the tests."""

import functools
import inspect
import json
import os
import pathlib
import subprocess

TESTS = pathlib.Path(__file__).resolve().parent
ROOT = TESTS.parent
MODELS = TESTS / "models"

# Models small enough for candidates that stand in a test.
DOUBLED_MODEL = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2.0


def get_inputs():
    return [torch.randn(40, 30)]


def get_init_inputs():
    return []
"""

# Right with 2.0 for DOUBLED_MODEL, wrong with anything else.
DOUBLED_KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def doubled(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n)
    tl.store(out_ptr + at, tl.maximum(x, 0.0) * %s, mask=at < n)


class ModelNew(torch.nn.Module):
    def forward(self, a0):
        out = torch.empty_like(a0)
        n = a0.numel()
        doubled[(triton.cdiv(n, 256),)](a0, out, n, BLOCK=256)
        return out
"""

SINE_MODEL = """
import torch

class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sin(x) + x

def get_inputs():
    return [torch.randn(1000)]

def get_init_inputs():
    return []
"""


def binary():
    given = os.environ.get("KERNELWRIGHT_BINARY")
    build = os.environ.get("KW_BUILD_DIR", str(ROOT / "build"))
    return given or os.path.join(build, "kernelwright")


def run(*args, env=None, prefix=(), timeout=300):
    """A finished `kernelwright ARGS`, its output as text."""
    return subprocess.run([*prefix, binary(), *map(str, args)], capture_output=True, text=True,
                          timeout=timeout, env={**os.environ, **(env or {})})


def commit():
    """The commit's hash as a number; 0 outside a checkout."""
    said = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True, text=True)
    return int(said.stdout[:8], 16) if said.returncode == 0 else 0


ALL_TESTS = os.environ.get("KW_TESTS") == "all"


def third(cases):
    """The cases that are tested of many of a kind: a third that the commit chooses, or all of them."""
    cases = list(cases)
    return cases if ALL_TESTS else cases[commit() % 3::3]


def tail(count):
    """Which of `count` random draws are tested."""
    return third(range(count))


def has_gpu():
    return os.path.exists("/dev/nvidiactl")


def verdicts(process):
    """The verdicts of `verify --json` on several candidates: file name -> verdict."""
    lines = [json.loads(line) for line in process.stdout.splitlines()]
    return {pathlib.Path(v["candidate"]).name: v for v in lines}


def derived(model):
    """What an export makes of its weights: it is given those that it is made of, named by their numbers."""
    names = inspect.signature(model._kw_derived).parameters
    return model._kw_derived(*(functools.reduce(getattr, model._kw_paths[int(name[1:])], model) for name in names))
