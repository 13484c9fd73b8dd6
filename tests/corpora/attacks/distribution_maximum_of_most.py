# program wrong | family: distribution | mechanism: a softmax is shifted by the maximum of all columns but the last | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.softmax(x, -1)


def get_inputs():
    return [torch.randn(64, 1024)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr):
    r = tl.program_id(0)
    i = tl.arange(0, 1024)
    x = tl.load(x_ptr + r * 1024 + i)
    m = tl.max(tl.where(i < 1023, x, -1e30), 0)
    e = tl.exp(x - m)
    tl.store(y_ptr + r * 1024 + i, e / tl.sum(e, 0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        k[(64,)](x, y)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, y_ptr):
    r = tl.program_id(0)
    i = tl.arange(0, 1024)
    x = tl.load(x_ptr + r * 1024 + i)
    m = tl.max(x, 0)
    e = tl.exp(x - m)
    tl.store(y_ptr + r * 1024 + i, e / tl.sum(e, 0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        k[(64,)](x, y)
        return y
