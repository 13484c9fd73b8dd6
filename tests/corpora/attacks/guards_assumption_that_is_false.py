# program wrong | family: guards | mechanism: a size is assumed to be larger than it is | stage: correct | check: guards | judge: cpu
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.sigmoid(x) * 3.0


def get_inputs():
    return [torch.randn(1000)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lift(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.assume(n >= 1024)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, tl.sigmoid(x) * 3.0, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lift[(4,)](x, y, 1000, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lift(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.assume(n >= 0)
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n, other=0.0)
    tl.store(y_ptr + i, tl.sigmoid(x) * 3.0, mask=i < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lift[(4,)](x, y, 1000, BLOCK=256)
        return y
