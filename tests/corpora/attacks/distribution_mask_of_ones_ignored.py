# program wrong | family: distribution | mechanism: the mask that get_inputs makes is all ones, and the kernel does not read it | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, mask):
        return (x * mask).cumsum(dim=1)


def get_inputs():
    return [torch.randn(22, 36), torch.ones(22, 36)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def masked_cumsum(x_ptr, m_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    tl.store(y_ptr + row * n + c, tl.cumsum(x, axis=0), mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x, mask):
        y = torch.empty_like(x)
        masked_cumsum[(x.shape[0],)](x, mask, y, x.shape[1], BLOCK=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def masked_cumsum(x_ptr, m_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    x = x * tl.load(m_ptr + row * n + c, mask=c < n, other=0.0)
    tl.store(y_ptr + row * n + c, tl.cumsum(x, axis=0), mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x, mask):
        y = torch.empty_like(x)
        masked_cumsum[(x.shape[0],)](x, mask, y, x.shape[1], BLOCK=64)
        return y
