# program wrong | family: decoy | mechanism: a kernel copies dot products of rows, where the reference takes the diagonal of a product | stage: coverage | check: share
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, a, b):
        return torch.diagonal(a @ b.t()).contiguous()


def get_inputs():
    return [torch.randn(256, 64), torch.randn(256, 64)]


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
    def forward(self, a, b):
        dots = (a * b).sum(1)
        y = torch.empty_like(dots)
        copy[(1,)](dots, y, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def dots(a_ptr, b_ptr, y_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    i = row * N + tl.arange(0, N)
    tl.store(y_ptr + row, tl.sum(tl.load(a_ptr + i) * tl.load(b_ptr + i)))


class ModelNew(nn.Module):
    def forward(self, a, b):
        y = torch.empty(256, dtype=a.dtype, device=a.device)
        dots[(256,)](a, b, y, N=64)
        return y
