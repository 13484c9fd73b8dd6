# program wrong | family: decoy | mechanism: a kernel copies rows that PyTorch scaled, where the reference multiplies by a diagonal matrix | stage: coverage | check: share
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, d, x):
        return torch.diag(d) @ x


def get_inputs():
    return [torch.randn(64), torch.randn(64, 64)]


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
    tl.store(y_ptr + i, tl.load(x_ptr + i))


class ModelNew(nn.Module):
    def forward(self, d, x):
        scaled = d[:, None] * x
        y = torch.empty_like(x)
        copy[(16,)](scaled, y, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale(d_ptr, x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(d_ptr + i // 64) * tl.load(x_ptr + i))


class ModelNew(nn.Module):
    def forward(self, d, x):
        y = torch.empty_like(x)
        scale[(16,)](d, x, y, BLOCK=256)
        return y
