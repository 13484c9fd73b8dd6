"""A candidate is cut out of its model's file: the rest is the model's, line by line."""

import ast

import pytest

import cutting
from refusal import Refused

TEXT = '''"""Both in one file."""
from __future__ import annotations

import math
import torch
import triton
import triton.language as tl

WIDTH = 64  # of the model
BLOCK = 32  # of the kernel
torch.manual_seed(0)


def shared(x):
    return math.sqrt(x)


@triton.jit
def inner(x):
    return x


@triton.jit
def kernel(x, BLOCK: tl.constexpr):
    tl.store(x, inner(tl.load(x)))


class Model(torch.nn.Module):
    def forward(self, x):
        return x * shared(WIDTH)


@triton.jit
def unused_kernel(x):
    tl.store(x, 0)


def unused():
    return WIDTH


# The candidate.
class ModelNew(torch.nn.Module):
    def forward(self, x):
        kernel[(1,)](x, BLOCK)
        return x * shared(WIDTH)


ModelNew.block = BLOCK


def get_inputs():
    return [torch.randn(WIDTH)]


if __name__ == "__main__":
    x, = get_inputs()  # a name that the model gives to a variable of its own
    print(ModelNew()(x))
'''


def cut(text, cls="ModelNew"):
    return cutting.cut({"source": text, "file": "both.py", "class": cls,
                        "keeps": ["Model", "get_inputs", "get_init_inputs"]})["source"]


def test_what_the_candidate_alone_uses_goes_with_it():
    rest = cut(TEXT)
    for gone in ("ModelNew", "kernel(", "unused_kernel", "inner", "BLOCK", "triton", "__main__"):
        assert gone not in rest.replace("# of the kernel", ""), gone
    for kept in ("def unused()", "shared", "WIDTH = 64", "import math", "get_inputs", "manual_seed", "__future__"):
        assert kept in rest
    ast.parse(rest)
    lines = iter(TEXT.splitlines())
    assert all(line in lines for line in rest.splitlines()), "lines of the file, in their order"


def test_a_file_without_a_candidate_is_as_it_was():
    assert cut(TEXT, "Another") == TEXT
    windows = TEXT.replace("\n", "\r\n")
    assert cut(windows) == cut(TEXT).replace("\n", "\r\n")


@pytest.mark.parametrize("change, message", [
    (("class Model(torch.nn.Module):\n    def forward(self, x):\n        return x * shared(WIDTH)", "class Model(torch.nn.Module):\n    def forward(self, x):\n        return ModelNew.block"), "uses ModelNew"),
    (("return [torch.randn(WIDTH)]", "return [ModelNew()(torch.randn(WIDTH))]"), "uses ModelNew"),
    (("ModelNew.block = BLOCK", "ModelNew.block = BLOCK; Model.block = 3"), "a line has a statement"),
    (("class Model(", "class Model(:"), "."),
    (("BLOCK = 32", "return 32"), "outside function")])
def test_what_cannot_be_told_apart_is_refused(change, message):
    text = TEXT.replace(*change)
    assert text != TEXT
    with pytest.raises(Refused, match=message):
        cut(text)
