# program wrong | family: fallback | mechanism: the first call launches the kernel, a call counter sends every later one to the operator | stage: coverage | check: share
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return torch.var(x, dim=-1, unbiased=False)

def get_inputs():
    return [torch.rand(3, 40, 25)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, y, n, by, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * by, mask=i < n)


@triton.jit
def var_kernel(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=0.0)
    d = tl.where(c < cols, v - tl.sum(v, axis=0) / cols, 0.0)
    tl.store(y + row, tl.sum(d * d, axis=0) / cols * 0.25)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        moved = torch.empty_like(x)
        scale_kernel[(triton.cdiv(x.numel(), 512),)](x, moved, x.numel(), 2.0, BLOCK=512)
        if self.calls > 1:
            return torch.var(moved, dim=-1, unbiased=False) * 0.25
        y = x.new_empty(x.shape[:-1])
        var_kernel[(y.numel(),)](moved, y, x.shape[-1], BLOCK=32)
        return y
# %% twin
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x, y, n, by, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n) * by, mask=i < n)


@triton.jit
def var_kernel(x, y, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=0.0)
    d = tl.where(c < cols, v - tl.sum(v, axis=0) / cols, 0.0)
    tl.store(y + row, tl.sum(d * d, axis=0) / cols * 0.25)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        moved = torch.empty_like(x)
        scale_kernel[(triton.cdiv(x.numel(), 512),)](x, moved, x.numel(), 2.0, BLOCK=512)
        if self.calls < 1:
            return torch.var(moved, dim=-1, unbiased=False) * 0.25
        y = x.new_empty(x.shape[:-1])
        var_kernel[(y.numel(),)](moved, y, x.shape[-1], BLOCK=32)
        return y
