# program wrong | family: lazy | mechanism: a dataclass computes its fields when they are read | stage: record | check: lazy
# %% reference
import dataclasses
import torch
import torch.nn as nn

@dataclasses.dataclass
class Moments:
    mean: object = None
    second: object = None

class Model(nn.Module):
    def forward(self, x):
        return Moments(x.mean(dim=0), (x * x).mean(dim=0))

def get_inputs():
    return [torch.randn(24, 75)]

def get_init_inputs():
    return []
# %% candidate
import dataclasses
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def moment_kernel(x, y, rows, cols, SQUARE: tl.constexpr, ROWS: tl.constexpr):
    c = tl.program_id(0)
    r = tl.arange(0, ROWS)
    v = tl.load(x + r * cols + c, mask=r < rows, other=0.0)
    if SQUARE:
        v = v * v
    tl.store(y + c, tl.sum(v, axis=0) / rows)


def moment(x, square):
    y = x.new_empty(x.shape[1])
    moment_kernel[(x.shape[1],)](x, y, *x.shape, SQUARE=square, ROWS=32)
    return y


@dataclasses.dataclass
class Moments:
    mean: object = None
    second: object = None

    def __getattribute__(self, name):
        if name in ("mean", "second"):
            return moment(object.__getattribute__(self, "source"), name == "second")
        return object.__getattribute__(self, name)


class ModelNew(nn.Module):
    def forward(self, x):
        found = Moments()
        found.source = x
        return found
# %% twin
import dataclasses
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def moment_kernel(x, y, rows, cols, SQUARE: tl.constexpr, ROWS: tl.constexpr):
    c = tl.program_id(0)
    r = tl.arange(0, ROWS)
    v = tl.load(x + r * cols + c, mask=r < rows, other=0.0)
    if SQUARE:
        v = v * v
    tl.store(y + c, tl.sum(v, axis=0) / rows)


def moment(x, square):
    y = x.new_empty(x.shape[1])
    moment_kernel[(x.shape[1],)](x, y, *x.shape, SQUARE=square, ROWS=32)
    return y


@dataclasses.dataclass
class Moments:
    mean: object = None
    second: object = None


class ModelNew(nn.Module):
    def forward(self, x):
        return Moments(moment(x, False), moment(x, True))
