# program wrong | family: distribution | mechanism: a variance by the mean of squares less the square of the mean, whose root is NaN where it is rounded below zero | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return centred / (centred.square().mean(-1, keepdim=True).sqrt() + 1e-4)


def get_inputs():
    return [torch.randn(60, 100)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def standardise(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    mean = tl.sum(x, axis=0) / n
    var = tl.sum(x * x, axis=0) / n - mean * mean
    tl.store(y_ptr + row * n + c, (x - mean) / (tl.sqrt(var) + 1e-4), mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        standardise[(x.shape[0],)](x, y, x.shape[1], BLOCK=128)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def standardise(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    mean = tl.sum(x, axis=0) / n
    centred = tl.where(c < n, x - mean, 0.0)
    var = tl.sum(centred * centred, axis=0) / n
    tl.store(y_ptr + row * n + c, (x - mean) / (tl.sqrt(var) + 1e-4), mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        standardise[(x.shape[0],)](x, y, x.shape[1], BLOCK=128)
        return y
