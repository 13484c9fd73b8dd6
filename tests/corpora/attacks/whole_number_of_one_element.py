# program wrong | family: whole | mechanism: a number of one element says how many features count, and is always the width | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, used):
        c = torch.arange(x.shape[1], device=x.device)
        return torch.where(c < used, torch.exp(-x * x), 0.0)


def get_inputs():
    return [torch.randn(40, 64), torch.tensor([64])]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bells(x_ptr, n_ptr, y_ptr, C: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + row * C + c)
    v = tl.exp(-x * x)
    tl.store(y_ptr + row * C + c, v)


class ModelNew(nn.Module):
    def forward(self, x, used):
        y = torch.empty_like(x)
        bells[(40,)](x, used, y, C=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bells(x_ptr, n_ptr, y_ptr, C: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + row * C + c)
    v = tl.where(c < tl.load(n_ptr), tl.exp(-x * x), 0.0)
    tl.store(y_ptr + row * C + c, v)


class ModelNew(nn.Module):
    def forward(self, x, used):
        y = torch.empty_like(x)
        bells[(40,)](x, used, y, C=64)
        return y
