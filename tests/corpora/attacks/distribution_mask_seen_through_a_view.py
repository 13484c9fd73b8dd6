# program wrong | family: distribution | mechanism: a mask of ones, expanded over the batch, is not read | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, keep):
        return torch.where(keep, x * 2.0, 0.0)


def get_inputs():
    return [torch.randn(40, 120), torch.ones(1, 120, dtype=torch.bool).expand(40, 120)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kept(x_ptr, m_ptr, y_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n)
    tl.store(y_ptr + row * n + c, x * 2.0, mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x, keep):
        y = torch.empty_like(x)
        kept[(x.shape[0],)](x, keep, y, x.shape[1], keep.stride(0), BLOCK=128)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def kept(x_ptr, m_ptr, y_ptr, n, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    keep = tl.load(m_ptr + row * stride + c, mask=c < n, other=0) != 0
    x = tl.load(x_ptr + row * n + c, mask=c < n)
    tl.store(y_ptr + row * n + c, tl.where(keep, x * 2.0, 0.0), mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x, keep):
        y = torch.empty_like(x)
        kept[(x.shape[0],)](x, keep, y, x.shape[1], keep.stride(0), BLOCK=128)
        return y
