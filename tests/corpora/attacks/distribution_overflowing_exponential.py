# program wrong | family: distribution | mechanism: tanh as (e - 1) / (e + 1), which is NaN where e is infinite | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    # scores are kept between -30 and 30
    def forward(self, scores):
        return 30.0 * torch.tanh(scores / 30.0) + 0.25 * torch.tanh(scores)


def get_inputs():
    return [torch.randn(64, 128)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def tanh(x):
    e = tl.exp(2.0 * x)
    return (e - 1.0) / (e + 1.0)


@triton.jit
def capped(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, 30.0 * tanh(x / 30.0) + 0.25 * tanh(x), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, scores):
        y = torch.empty_like(scores)
        capped[(triton.cdiv(y.numel(), 1024),)](scores, y, y.numel(), BLOCK=1024)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def tanh(x):
    return 2.0 * tl.sigmoid(2.0 * x) - 1.0


@triton.jit
def capped(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, 30.0 * tanh(x / 30.0) + 0.25 * tanh(x), mask=i < n)


class ModelNew(nn.Module):
    def forward(self, scores):
        y = torch.empty_like(scores)
        capped[(triton.cdiv(y.numel(), 1024),)](scores, y, y.numel(), BLOCK=1024)
        return y
