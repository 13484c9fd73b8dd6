# program wrong | family: in-place | mechanism: the first kernel centres the input in place, the second reads it from there | stage: correct | check: inputs
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        d = x - x.mean(dim=1, keepdim=True)
        return d.abs().amax(dim=1)

def get_inputs():
    return [torch.randn(66, 35)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def centre(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=0.0)
    tl.store(y + row * cols + c, v - tl.sum(v, axis=0) / cols, mask=c < cols)


@triton.jit
def largest(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=0.0)
    tl.store(y + row, tl.max(tl.abs(v), axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        d = x
        centre[(rows,)](x, d, cols, BLOCK=64)
        out = x.new_empty(rows)
        largest[(rows,)](d, out, cols, BLOCK=64)
        return out
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def centre(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=0.0)
    tl.store(y + row * cols + c, v - tl.sum(v, axis=0) / cols, mask=c < cols)


@triton.jit
def largest(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=0.0)
    tl.store(y + row, tl.max(tl.abs(v), axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        d = torch.empty_like(x)
        centre[(rows,)](x, d, cols, BLOCK=64)
        out = x.new_empty(rows)
        largest[(rows,)](d, out, cols, BLOCK=64)
        return out
