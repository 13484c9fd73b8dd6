# program wrong | family: tolerance | mechanism: two halves of a long row overlap by one element, which the rounding of the sum hides | stage: correct | check: integers
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.sum(-1)


def get_inputs():
    return [torch.randn(32, 160000).to(torch.bfloat16)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_sum(x_ptr, y_ptr, N, B: tl.constexpr):
    row = tl.program_id(0)
    half = N // 2
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for start in range(0, half + 1, B):
        low = start + i
        acc += tl.load(x_ptr + row * N + low, mask=low < half + 1, other=0.0).to(tl.float32)
        high = half + start + i
        acc += tl.load(x_ptr + row * N + high, mask=high < N, other=0.0).to(tl.float32)
    tl.store(y_ptr + row, tl.sum(acc, 0).to(tl.bfloat16))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
        row_sum[(x.shape[0],)](x, y, x.shape[1], B=8192)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def row_sum(x_ptr, y_ptr, N, B: tl.constexpr):
    row = tl.program_id(0)
    half = N // 2
    i = tl.arange(0, B)
    acc = tl.zeros((B,), tl.float32)
    for start in range(0, half + 0, B):
        low = start + i
        acc += tl.load(x_ptr + row * N + low, mask=low < half + 0, other=0.0).to(tl.float32)
        high = half + start + i
        acc += tl.load(x_ptr + row * N + high, mask=high < N, other=0.0).to(tl.float32)
    tl.store(y_ptr + row, tl.sum(acc, 0).to(tl.bfloat16))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
        row_sum[(x.shape[0],)](x, y, x.shape[1], B=8192)
        return y
