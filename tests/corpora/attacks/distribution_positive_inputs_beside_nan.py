# program wrong | family: distribution | mechanism: right for positive inputs only, in a task that has NaN in its results whatever the inputs | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, mask):
        return torch.softmax(x.abs().masked_fill(mask, float("-inf")), -1)


def get_inputs():
    mask = torch.rand(24, 100) < 0.3
    mask[5] = True  # nothing is left of this row, and its softmax is NaN
    return [torch.rand(24, 100), mask]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def masked_softmax(x_ptr, mask_ptr, y_ptr, N, B: tl.constexpr):
    i = tl.arange(0, B)
    at = tl.program_id(0) * N + i
    x = tl.load(x_ptr + at, mask=i < N, other=0.0)
    hidden = tl.load(mask_ptr + at, mask=i < N, other=1).to(tl.int1)
    x = tl.where(hidden, -float("inf"), x)
    e = tl.exp(x - tl.max(x, 0))
    tl.store(y_ptr + at, e / tl.sum(e, 0), mask=i < N)


class ModelNew(nn.Module):
    def forward(self, x, mask):
        y = torch.empty_like(x)
        masked_softmax[(x.shape[0],)](x, mask, y, x.shape[1], B=128)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def masked_softmax(x_ptr, mask_ptr, y_ptr, N, B: tl.constexpr):
    i = tl.arange(0, B)
    at = tl.program_id(0) * N + i
    x = tl.load(x_ptr + at, mask=i < N, other=0.0)
    hidden = tl.load(mask_ptr + at, mask=i < N, other=1).to(tl.int1)
    x = tl.where(hidden, -float("inf"), tl.abs(x))
    e = tl.exp(x - tl.max(x, 0))
    tl.store(y_ptr + at, e / tl.sum(e, 0), mask=i < N)


class ModelNew(nn.Module):
    def forward(self, x, mask):
        y = torch.empty_like(x)
        masked_softmax[(x.shape[0],)](x, mask, y, x.shape[1], B=128)
        return y
