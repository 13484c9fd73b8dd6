# program wrong | family: distribution | mechanism: values are clipped where a normal sample never comes | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, gate):
        return x * torch.sigmoid(gate)


def get_inputs():
    return [torch.randn(37, 41), torch.randn(37, 41)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gated(x_ptr, g_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = i < n
    x = tl.load(x_ptr + i, mask=keep, other=0.0)
    x = tl.minimum(tl.maximum(x, -7.0), 7.0)
    g = tl.load(g_ptr + i, mask=keep, other=0.0)
    tl.store(y_ptr + i, x * tl.sigmoid(g), mask=keep)


class ModelNew(nn.Module):
    def forward(self, x, gate):
        y = torch.empty_like(x)
        gated[(triton.cdiv(x.numel(), 1024),)](x, gate, y, x.numel(), BLOCK=1024)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def gated(x_ptr, g_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keep = i < n
    x = tl.load(x_ptr + i, mask=keep, other=0.0)
    g = tl.load(g_ptr + i, mask=keep, other=0.0)
    tl.store(y_ptr + i, x * tl.sigmoid(g), mask=keep)


class ModelNew(nn.Module):
    def forward(self, x, gate):
        y = torch.empty_like(x)
        gated[(triton.cdiv(x.numel(), 1024),)](x, gate, y, x.numel(), BLOCK=1024)
        return y
