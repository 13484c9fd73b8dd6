# program wrong | family: guards | mechanism: a load without a mask reads past its input, what it reads is thrown away | stage: correct | check: guards | judge: cpu
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.exp(x).sum(dim=1)


def get_inputs():
    return [torch.randn(21, 45)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def exp_sums(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c)
    tl.store(y_ptr + row, tl.sum(tl.where(c < n, tl.exp(x), 0.0), axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], device=x.device)
        exp_sums[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def exp_sums(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    tl.store(y_ptr + row, tl.sum(tl.where(c < n, tl.exp(x), 0.0), axis=0))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], device=x.device)
        exp_sums[(x.shape[0],)](x, y, x.shape[1], BLOCK=64)
        return y
