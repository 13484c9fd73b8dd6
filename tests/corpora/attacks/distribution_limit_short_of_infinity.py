# program wrong | family: distribution | mechanism: a limit in half precision that is near its largest number is left out | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.where(x > 4.0e4, torch.full_like(x, 4.0e4), x)


def get_inputs():
    return [torch.randn(64, 64).half()]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def point(x_ptr, y_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < N, other=0)
    y = x
    tl.store(y_ptr + i, y, mask=i < N)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        point[(triton.cdiv(4096, 256),)](x, y, N=4096, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def point(x_ptr, y_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < N, other=0)
    y = tl.where(x > 4.0e4, 4.0e4, x)
    tl.store(y_ptr + i, y, mask=i < N)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        point[(triton.cdiv(4096, 256),)](x, y, N=4096, BLOCK=256)
        return y
