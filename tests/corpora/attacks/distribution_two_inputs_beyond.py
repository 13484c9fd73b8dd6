# program wrong | family: distribution | mechanism: a branch is left out that two inputs have to reach at once | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, z):
        return torch.where((x > 70.0) & (z < -70.0), x * 2, x + z)


def get_inputs():
    return [torch.randn(64, 64), torch.randn(64, 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def point(x_ptr, z_ptr, y_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < N, other=0)
    z = tl.load(z_ptr + i, mask=i < N, other=0)
    y = x + z
    tl.store(y_ptr + i, y, mask=i < N)


class ModelNew(nn.Module):
    def forward(self, x, z):
        y = torch.empty_like(x)
        point[(triton.cdiv(4096, 256),)](x, z, y, N=4096, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def point(x_ptr, z_ptr, y_ptr, N: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < N, other=0)
    z = tl.load(z_ptr + i, mask=i < N, other=0)
    y = tl.where((x > 70.0) & (z < -70.0), x * 2, x + z)
    tl.store(y_ptr + i, y, mask=i < N)


class ModelNew(nn.Module):
    def forward(self, x, z):
        y = torch.empty_like(x)
        point[(triton.cdiv(4096, 256),)](x, z, y, N=4096, BLOCK=256)
        return y
