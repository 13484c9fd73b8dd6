"""Runs the command line for the tests."""

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


def has_gpu():
    return os.path.exists("/dev/nvidiactl")


def verdicts(process):
    """The verdicts of `verify --json` on several candidates: file name -> verdict."""
    lines = [json.loads(line) for line in process.stdout.splitlines()]
    return {pathlib.Path(v["candidate"]).name: v for v in lines}
