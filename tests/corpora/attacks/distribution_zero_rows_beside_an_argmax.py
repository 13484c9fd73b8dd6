# program wrong | family: distribution | mechanism: rows of zeros give NaN, in a program that also says where the largest element stands | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        length = x.square().sum(-1, keepdim=True).sqrt().clamp(min=1e-6)
        return x / length, x.argmax(-1)


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
def unit(x_ptr, y_ptr, where_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, N)
    x = tl.load(x_ptr + row * N + c)
    tl.store(y_ptr + row * N + c, x * tl.rsqrt(tl.sum(x * x, axis=0)))
    tl.store(where_ptr + row, tl.argmax(x, axis=0).to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        where = torch.empty(x.shape[0], dtype=torch.int64, device=x.device)
        unit[(x.shape[0],)](x, y, where, N=x.shape[1])
        return y, where
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def unit(x_ptr, y_ptr, where_ptr, N: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, N)
    x = tl.load(x_ptr + row * N + c)
    length = tl.maximum(tl.sqrt(tl.sum(x * x, axis=0)), 1e-6)
    tl.store(y_ptr + row * N + c, x / length)
    tl.store(where_ptr + row, tl.argmax(x, axis=0).to(tl.int64))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        where = torch.empty(x.shape[0], dtype=torch.int64, device=x.device)
        unit[(x.shape[0],)](x, y, where, N=x.shape[1])
        return y, where
