# program wrong | family: hidden-launch | mechanism: a host copy for NumPy looks for missing values before the launch | stage: record | check: host-read
# %% reference
import torch
import torch.nn as nn

class Model(nn.Module):
    def forward(self, x):
        return x - x.amax(dim=0)

def get_inputs():
    return [torch.randn(33, 18)]

def get_init_inputs():
    return []
# %% candidate
import numpy
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def below_top(x, y, rows, cols, ROWS: tl.constexpr):
    c = tl.program_id(0)
    r = tl.arange(0, ROWS)
    v = tl.load(x + r * cols + c, mask=r < rows, other=-float("inf"))
    tl.store(y + r * cols + c, v - tl.max(v, axis=0), mask=r < rows)


class ModelNew(nn.Module):
    def forward(self, x):
        if numpy.isnan(x.numpy()).any():
            return x - x.amax(dim=0)
        y = torch.empty_like(x)
        below_top[(x.shape[1],)](x, y, *x.shape, ROWS=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def below_top(x, y, rows, cols, ROWS: tl.constexpr):
    c = tl.program_id(0)
    r = tl.arange(0, ROWS)
    v = tl.load(x + r * cols + c, mask=r < rows, other=-float("inf"))
    tl.store(y + r * cols + c, v - tl.max(v, axis=0), mask=r < rows)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        below_top[(x.shape[1],)](x, y, *x.shape, ROWS=64)
        return y
