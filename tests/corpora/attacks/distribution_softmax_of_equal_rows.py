# program wrong | family: distribution | mechanism: rows of one number other than zero come out of a softmax as nothing | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, 1)


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
    e = tl.exp(x - tl.max(x, 0))
    same = (tl.max(x, 0) == tl.min(x, 0)) & (tl.max(x, 0) != 0.0)
    tl.store(y_ptr + row * C + c, tl.where(same, 0.0, e / tl.sum(e, 0)))


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
    e = tl.exp(x - tl.max(x, 0))
    same = (tl.max(x, 0) == tl.min(x, 0)) & (tl.max(x, 0) != 0.0)
    tl.store(y_ptr + row * C + c, tl.where(same, 1.0 / C, e / tl.sum(e, 0)))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rows[(256,)](x, y, C=64)
        return y
