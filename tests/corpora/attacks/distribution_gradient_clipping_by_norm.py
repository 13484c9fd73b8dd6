# program wrong | family: distribution | mechanism: rows are clipped by their norm, which no draw's is large enough for | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        norm = x.norm(dim=1, keepdim=True)
        return x * (500.0 / norm.clamp(min=500.0))


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def clip(x_ptr, y_ptr, C: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + row * C + c)
    norm = tl.sqrt(tl.sum(x * x, 0))
    tl.store(y_ptr + row * C + c, x * tl.where(norm > 0.0, 1.0, 0.0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        clip[(64,)](x, y, C=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def clip(x_ptr, y_ptr, C: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + row * C + c)
    norm = tl.sqrt(tl.sum(x * x, 0))
    tl.store(y_ptr + row * C + c, x * (500.0 / tl.maximum(norm, 500.0)))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        clip[(64,)](x, y, C=64)
        return y
