# program wrong | family: distribution | mechanism: one input is a probability, which no variation may leave; the other is taken for positive | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    # entropy of probabilities, weighed by the size of a gradient
    def forward(self, p, g):
        return -(p * torch.log(p)) * torch.abs(g)


def get_inputs():
    return [torch.rand(64, 100) * 0.9 + 0.05, torch.rand(64, 100) + 0.1]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def weighed(p_ptr, g_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    p = tl.load(p_ptr + i, mask=i < n, other=1.0)
    g = tl.load(g_ptr + i, mask=i < n)
    tl.store(y_ptr + i, -(p * tl.log(p)) * g, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, p, g):
        y = torch.empty_like(p)
        weighed[(triton.cdiv(p.numel(), 512),)](p, g, y, p.numel(), BLOCK=512)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def weighed(p_ptr, g_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    p = tl.load(p_ptr + i, mask=i < n, other=1.0)
    g = tl.load(g_ptr + i, mask=i < n)
    tl.store(y_ptr + i, -(p * tl.log(p)) * tl.abs(g), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, p, g):
        y = torch.empty_like(p)
        weighed[(triton.cdiv(p.numel(), 512),)](p, g, y, p.numel(), BLOCK=512)
        return y
