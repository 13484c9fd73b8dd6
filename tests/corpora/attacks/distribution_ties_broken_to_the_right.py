# program wrong | family: distribution | mechanism: the smallest element's index is broken to the right | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.min(dim=1).indices


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
    at = tl.argmin(x, 0, tie_break_left=False)
    tl.store(y_ptr + row, at.to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty((256,), device=x.device, dtype=torch.int64)
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
    at = tl.argmin(x, 0, tie_break_left=True)
    tl.store(y_ptr + row, at.to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty((256,), device=x.device, dtype=torch.int64)
        rows[(256,)](x, y, C=64)
        return y
