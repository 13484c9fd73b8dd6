# program wrong | family: kernel-body | mechanism: a constant's class leads the body to all of Python | stage: compile | check: slice
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.cos(x).mean(dim=1)


def get_inputs():
    return [torch.randn(20, 60)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mean_cosine(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    tl.static_assert(len(BLOCK.__class__.__mro__) > 1)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    tl.store(y_ptr + row, tl.sum(tl.where(c < n, tl.cos(x), 0.0), axis=0) / n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], device=x.device)
        mean_cosine[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def mean_cosine(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    tl.static_assert(BLOCK >= 32)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    tl.store(y_ptr + row, tl.sum(tl.where(c < n, tl.cos(x), 0.0), axis=0) / n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], device=x.device)
        mean_cosine[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
        return y
