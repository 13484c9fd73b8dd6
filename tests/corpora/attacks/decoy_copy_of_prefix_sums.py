# program wrong | family: decoy | mechanism: a kernel halves prefix sums that PyTorch computed, where the reference multiplies by a triangular matrix of ones | stage: coverage | check: share
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return (torch.tril(torch.ones(64, 64)) @ x) * 0.5


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
def copy(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i) * 0.5)


class ModelNew(nn.Module):
    def forward(self, x):
        sums = torch.cumsum(x, 0)
        y = torch.empty_like(x)
        copy[(16,)](sums, y, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def prefix(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)[:, None] * N + tl.arange(0, N)[None, :]
    tl.store(y_ptr + i, tl.cumsum(tl.load(x_ptr + i), 0) * 0.5)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        prefix[(1,)](x, y, N=64)
        return y
