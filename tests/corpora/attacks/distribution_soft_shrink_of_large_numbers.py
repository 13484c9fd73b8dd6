# program wrong | family: distribution | mechanism: shrinkage is a shift, as draws lie above its range | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def forward(self, x):
        return F.softshrink(x, 0.001) * 3.0


def get_inputs():
    return [torch.rand(64, 64) + 100]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def point(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, (x - 0.001) * 3.0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        point[(16,)](x, y, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def point(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, tl.where(x > 0.001, x - 0.001, tl.where(x < -0.001, x + 0.001, 0.0)) * 3.0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        point[(16,)](x, y, BLOCK=256)
        return y
