# program wrong | family: guards | mechanism: a row's length is promised to be a multiple of eight | stage: correct | check: guards | judge: cpu
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1.0


def get_inputs():
    return [torch.randn(48, 61)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lift(x_ptr, y_ptr, C, BLOCK: tl.constexpr):
    start = tl.multiple_of(tl.program_id(0) * C, 8)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + start + c, mask=c < C, other=0.0)
    tl.store(y_ptr + start + c, tl.maximum(x, 0.0) + 1.0, mask=c < C)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lift[(48,)](x, y, 61, BLOCK=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def lift(x_ptr, y_ptr, C, BLOCK: tl.constexpr):
    start = tl.program_id(0) * C
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + start + c, mask=c < C, other=0.0)
    tl.store(y_ptr + start + c, tl.maximum(x, 0.0) + 1.0, mask=c < C)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        lift[(48,)](x, y, 61, BLOCK=64)
        return y
