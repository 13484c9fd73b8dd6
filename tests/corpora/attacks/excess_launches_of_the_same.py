# program wrong | family: excess | mechanism: thousands of launches, of which the last one counts | stage: correct | check: work
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * 2.0 + 1.0


def get_inputs():
    return [torch.randn(64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def double(x_ptr, y_ptr, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + c)
    if tl.program_id(0) == 0:
        tl.store(y_ptr + c, x * 2.0 + 1.0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        for _ in range(4500):
            double[(1,)](x, y, BLOCK=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def double(x_ptr, y_ptr, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + c)
    if tl.program_id(0) == 0:
        tl.store(y_ptr + c, x * 2.0 + 1.0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        for _ in range(1):
            double[(1,)](x, y, BLOCK=64)
        return y
