# program wrong | family: distribution | mechanism: every other column of a tensor is normalised without a lower limit, and none of its rows is zero | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x / (x.abs().sum(-1, keepdim=True) + 1e-8)


def get_inputs():
    return [(torch.rand(80, 128) + 0.5)[:, ::2]]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def shares(x_ptr, y_ptr, row_stride, column_stride, N: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, N)
    x = tl.load(x_ptr + row * row_stride + c * column_stride)
    tl.store(y_ptr + row * N + c, x / tl.sum(tl.abs(x), axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape, device=x.device)
        shares[(x.shape[0],)](x, y, x.stride(0), x.stride(1), N=x.shape[1])
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def shares(x_ptr, y_ptr, row_stride, column_stride, N: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, N)
    x = tl.load(x_ptr + row * row_stride + c * column_stride)
    tl.store(y_ptr + row * N + c, x / (tl.sum(tl.abs(x), axis=0) + 1e-8))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape, device=x.device)
        shares[(x.shape[0],)](x, y, x.stride(0), x.stride(1), N=x.shape[1])
        return y
