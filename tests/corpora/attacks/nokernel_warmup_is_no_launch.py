# program wrong | family: no-kernel | mechanism: the kernel is only warmed up, which compiles and launches nothing | stage: coverage | check: share+noop
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return (x * torch.tanh(torch.nn.functional.softplus(x))).sum(dim=0)

def get_inputs():
    return [torch.randn(19, 65)]

def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import torch.nn.functional as F
import triton
import triton.language as tl


@triton.jit
def mish_sum(x, out, rows, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    r = tl.arange(0, ROWS)
    m = (r[:, None] < rows) & (c[None, :] < cols)
    v = tl.load(x + r[:, None] * cols + c[None, :], mask=m, other=0.0)
    e = tl.exp(v)
    t = e * (e + 2.0)
    tl.store(out + c, tl.sum(tl.where(m, v * t / (t + 2.0), 0.0), axis=0), mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        out = x.new_empty(cols)
        grid = (triton.cdiv(cols, 16),)
        mish_sum.warmup(x, out, rows, cols, ROWS=32, BLOCK=16, grid=grid)
        torch.sum(F.mish(x), dim=0, out=out)
        return out
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mish_sum(x, out, rows, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    c = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    r = tl.arange(0, ROWS)
    m = (r[:, None] < rows) & (c[None, :] < cols)
    v = tl.load(x + r[:, None] * cols + c[None, :], mask=m, other=0.0)
    e = tl.exp(tl.minimum(v, 20.0))  # beyond, t / (t + 2) is 1
    t = e * (e + 2.0)
    tl.store(out + c, tl.sum(tl.where(m, v * t / (t + 2.0), 0.0), axis=0), mask=c < cols)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        out = x.new_empty(cols)
        grid = (triton.cdiv(cols, 16),)
        mish_sum.warmup(x, out, rows, cols, ROWS=32, BLOCK=16, grid=grid)
        mish_sum[grid](x, out, rows, cols, ROWS=32, BLOCK=16)
        return out
