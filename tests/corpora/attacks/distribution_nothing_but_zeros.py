# program wrong | family: distribution | mechanism: a gradient that is zero everywhere makes the norm zero, and the result NaN | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    # gradients are cut to a norm of one
    def forward(self, g, p):
        norm = g.square().sum().sqrt()
        return p - 0.01 * g * torch.clamp(1.0 / (norm + 1e-6), max=1.0)


def get_inputs():
    return [torch.randn(5000), torch.randn(5000)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def square_sum(g_ptr, s_ptr, n, BLOCK: tl.constexpr):
    total = 0.0
    for begin in range(0, n, BLOCK):
        i = begin + tl.arange(0, BLOCK)
        g = tl.load(g_ptr + i, mask=i < n, other=0.0)
        total += tl.sum(g * g, axis=0)
    tl.store(s_ptr, total)


@triton.jit
def step(g_ptr, p_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + i, mask=i < n, other=0.0)
    p = tl.load(p_ptr + i, mask=i < n, other=0.0)
    norm = tl.sqrt(tl.load(s_ptr))
    cut = tl.minimum(norm, 1.0) / norm
    tl.store(y_ptr + i, p - 0.01 * g * cut, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, g, p):
        s = torch.empty(1, device=g.device)
        y = torch.empty_like(p)
        square_sum[(1,)](g, s, g.numel(), BLOCK=1024)
        step[(triton.cdiv(g.numel(), 1024),)](g, p, s, y, g.numel(), BLOCK=1024)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def square_sum(g_ptr, s_ptr, n, BLOCK: tl.constexpr):
    total = 0.0
    for begin in range(0, n, BLOCK):
        i = begin + tl.arange(0, BLOCK)
        g = tl.load(g_ptr + i, mask=i < n, other=0.0)
        total += tl.sum(g * g, axis=0)
    tl.store(s_ptr, total)


@triton.jit
def step(g_ptr, p_ptr, s_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    g = tl.load(g_ptr + i, mask=i < n, other=0.0)
    p = tl.load(p_ptr + i, mask=i < n, other=0.0)
    cut = tl.minimum(1.0 / (tl.sqrt(tl.load(s_ptr)) + 1e-6), 1.0)
    tl.store(y_ptr + i, p - 0.01 * g * cut, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, g, p):
        s = torch.empty(1, device=g.device)
        y = torch.empty_like(p)
        square_sum[(1,)](g, s, g.numel(), BLOCK=1024)
        step[(triton.cdiv(g.numel(), 1024),)](g, p, s, y, g.numel(), BLOCK=1024)
        return y
