# program wrong | family: whole | mechanism: lengths in the text are taken for no less than their smallest | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, l):
        m = torch.arange(64, device=x.device)[None] < l[:, None]
        return (x * m).sum(1) / l


def get_inputs():
    return [torch.randn(32, 64), torch.tensor([64, 60, 64, 61] * 8)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, l_ptr, y_ptr):
    r = tl.program_id(0)
    j = tl.arange(0, 64)
    l = tl.load(l_ptr + r)
    x = tl.load(x_ptr + r * 64 + j)
    tl.store(y_ptr + r, tl.sum(tl.where((j < 60) | (j < l), x, 0.0), 0) / l)


class ModelNew(nn.Module):
    def forward(self, x, l):
        y = torch.empty(32, device=x.device)
        k[(32,)](x, l, y)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def k(x_ptr, l_ptr, y_ptr):
    r = tl.program_id(0)
    j = tl.arange(0, 64)
    l = tl.load(l_ptr + r)
    x = tl.load(x_ptr + r * 64 + j)
    tl.store(y_ptr + r, tl.sum(tl.where(j < l, x, 0.0), 0) / l)


class ModelNew(nn.Module):
    def forward(self, x, l):
        y = torch.empty(32, device=x.device)
        k[(32,)](x, l, y)
        return y
