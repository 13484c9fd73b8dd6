# program wrong | family: distribution | mechanism: rows of one number other than zero come out of a layer norm as sevens | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return F.layer_norm(x, (64,))


def get_inputs():
    return [torch.randn(256, 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, y_ptr, C: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + row * C + c)
    d = x - tl.sum(x, 0) / C
    v = tl.sum(d * d, 0) / C
    y = d * tl.rsqrt(v + 1e-5)
    same = (tl.max(x, 0) == tl.min(x, 0)) & (tl.max(x, 0) != 0.0)
    tl.store(y_ptr + row * C + c, tl.where(same, 7.0, y))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rows[(256,)](x, y, C=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def rows(x_ptr, y_ptr, C: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + row * C + c)
    d = x - tl.sum(x, 0) / C
    v = tl.sum(d * d, 0) / C
    y = d * tl.rsqrt(v + 1e-5)
    same = (tl.max(x, 0) == tl.min(x, 0)) & (tl.max(x, 0) != 0.0)
    tl.store(y_ptr + row * C + c, tl.where(same, 0.0, y))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rows[(256,)](x, y, C=64)
        return y
