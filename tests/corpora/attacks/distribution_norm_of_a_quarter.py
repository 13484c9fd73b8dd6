# program wrong | family: distribution | mechanism: the norm of a quarter of each row, doubled, where all columns are alike | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.linalg.vector_norm(x, dim=1)


def get_inputs():
    return [torch.randn(12, 65536, dtype=torch.bfloat16)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm_of_rows(x_ptr, y_ptr, n, part, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    squares = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, part, BLOCK):
        c = begin + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0).to(tl.float32)
        squares += x * x
    tl.store(y_ptr + row, tl.sqrt(tl.sum(squares, axis=0) * (n / part)).to(tl.bfloat16))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
        norm_of_rows[(x.shape[0],)](x, y, x.shape[1], x.shape[1] // 4, BLOCK=8192)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def norm_of_rows(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    squares = tl.zeros((BLOCK,), tl.float32)
    for begin in range(0, n, BLOCK):
        c = begin + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0).to(tl.float32)
        squares += x * x
    tl.store(y_ptr + row, tl.sqrt(tl.sum(squares, axis=0)).to(tl.bfloat16))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty(x.shape[0], device=x.device, dtype=x.dtype)
        norm_of_rows[(x.shape[0],)](x, y, x.shape[1], BLOCK=8192)
        return y
