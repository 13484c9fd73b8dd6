# program wrong | family: distribution | mechanism: an element on the edge of two buckets goes into the upper one | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("limits", torch.tensor([-1.5, -0.5, 0.5, 1.5]))

    def forward(self, x):
        return torch.bucketize(x, self.limits)


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bucket(x_ptr, limits_ptr, y_ptr, N: tl.constexpr, L: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.arange(0, L)
    x = tl.load(x_ptr + i, mask=i < N, other=0.0)
    limits = tl.load(limits_ptr + j)
    below = limits[None, :] <= x[:, None]
    tl.store(y_ptr + i, tl.sum(below.to(tl.int64), axis=1), mask=i < N)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("limits", torch.tensor([-1.5, -0.5, 0.5, 1.5]))

    def forward(self, x):
        y = torch.empty(x.shape, dtype=torch.int64, device=x.device)
        bucket[(triton.cdiv(4096, 256),)](x, self.limits, y, N=4096, L=4, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def bucket(x_ptr, limits_ptr, y_ptr, N: tl.constexpr, L: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    j = tl.arange(0, L)
    x = tl.load(x_ptr + i, mask=i < N, other=0.0)
    limits = tl.load(limits_ptr + j)
    below = limits[None, :] < x[:, None]
    tl.store(y_ptr + i, tl.sum(below.to(tl.int64), axis=1), mask=i < N)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("limits", torch.tensor([-1.5, -0.5, 0.5, 1.5]))

    def forward(self, x):
        y = torch.empty(x.shape, dtype=torch.int64, device=x.device)
        bucket[(triton.cdiv(4096, 256),)](x, self.limits, y, N=4096, L=4, BLOCK=256)
        return y
