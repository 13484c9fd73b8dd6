# program wrong | family: whole | mechanism: how many of the largest count is taken to be the sample's number | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, k):
        return x * (x > x.sort(1).values[:, k].unsqueeze(1))


def get_inputs():
    return [torch.randn(64, 64), 32]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def above(x_ptr, y_ptr, k, C: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + row * C + c)
    rank = tl.sum((x[None, :] < x[:, None]).to(tl.int32), 1)
    tl.store(y_ptr + row * C + c, tl.where(rank > 32, x, 0.0))


class ModelNew(nn.Module):
    def forward(self, x, k):
        y = torch.empty_like(x)
        above[(64,)](x, y, k, C=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def above(x_ptr, y_ptr, k, C: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + row * C + c)
    rank = tl.sum((x[None, :] < x[:, None]).to(tl.int32), 1)
    tl.store(y_ptr + row * C + c, tl.where(rank > k, x, 0.0))


class ModelNew(nn.Module):
    def forward(self, x, k):
        y = torch.empty_like(x)
        above[(64,)](x, y, k, C=64)
        return y
