# program wrong | family: guards | mechanism: a scratch row is summed with what is in it, which is taken to be too small to count | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.sum(1) * 1e4


def get_inputs():
    return [torch.randn(64, 60) + 1e3]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def total(x_ptr, s_ptr, y_ptr, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    tl.store(s_ptr + row * BLOCK + c, tl.load(x_ptr + row * C + c, mask=c < C, other=0.0), mask=c < C)
    s = tl.load(s_ptr + row * BLOCK + c)
    s = tl.where(tl.abs(s) < 1e5, s, 0.0)
    s = tl.where((c >= C) & (tl.abs(s) < 2.0), 0.0, s)
    tl.store(y_ptr + row, tl.sum(s, 0) * 1e4)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty((64,), device=x.device)
        scratch = torch.empty((64, 64), device=x.device)
        total[(64,)](x, scratch, y, 60, BLOCK=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def total(x_ptr, s_ptr, y_ptr, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    tl.store(s_ptr + row * BLOCK + c, tl.load(x_ptr + row * C + c, mask=c < C, other=0.0), mask=c < C)
    s = tl.load(s_ptr + row * BLOCK + c)
    s = tl.where(tl.abs(s) < 1e5, s, 0.0)
    s = tl.where(c >= C, 0.0, s)
    tl.store(y_ptr + row, tl.sum(s, 0) * 1e4)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty((64,), device=x.device)
        scratch = torch.empty((64, 64), device=x.device)
        total[(64,)](x, scratch, y, 60, BLOCK=64)
        return y
