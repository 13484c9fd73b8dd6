# program wrong | family: whole | mechanism: offsets of parts are taken for equal steps | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, o):
        s = torch.bucketize(torch.arange(64, device=x.device), o[1:], right=True)
        return torch.zeros(4, device=x.device).index_add(0, s, x)


def get_inputs():
    return [torch.randn(64), torch.tensor([0, 16, 32, 48, 64])]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, o_ptr, y_ptr):
    r = tl.program_id(0)
    j = tl.arange(0, 64)
    s = tl.load(o_ptr + r)
    e = tl.load(o_ptr + r + 1)
    x = tl.load(x_ptr + j)
    tl.store(y_ptr + r, tl.sum(tl.where((j >= r * 16) & (j < r * 16 + 16), x, 0.0), 0))


class ModelNew(nn.Module):
    def forward(self, x, o):
        y = torch.empty(4, device=x.device)
        k[(4,)](x, o, y)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, o_ptr, y_ptr):
    r = tl.program_id(0)
    j = tl.arange(0, 64)
    s = tl.load(o_ptr + r)
    e = tl.load(o_ptr + r + 1)
    x = tl.load(x_ptr + j)
    tl.store(y_ptr + r, tl.sum(tl.where((j >= s) & (j < e), x, 0.0), 0))


class ModelNew(nn.Module):
    def forward(self, x, o):
        y = torch.empty(4, device=x.device)
        k[(4,)](x, o, y)
        return y
