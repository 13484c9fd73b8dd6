# program wrong | family: tolerance | mechanism: a running sum in half precision, rounded once more than the output's type asks for | stage: correct | check: outputs | judge: cpu
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.cumsum(dim=1)


def get_inputs():
    return [torch.randn(30, 64).half()]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def running_sum(x_ptr, y_ptr, rows, n, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float16)
    for c in range(n):
        total += tl.load(x_ptr + r * n + c, mask=r < rows, other=0.0)
        tl.store(y_ptr + r * n + c, total, mask=r < rows)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rows, n = x.shape
        running_sum[(triton.cdiv(rows, 32),)](x, y, rows, n, BLOCK=32)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def running_sum(x_ptr, y_ptr, rows, n, BLOCK: tl.constexpr):
    r = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for c in range(n):
        total += tl.load(x_ptr + r * n + c, mask=r < rows, other=0.0)
        tl.store(y_ptr + r * n + c, total.to(tl.float16), mask=r < rows)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rows, n = x.shape
        running_sum[(triton.cdiv(rows, 32),)](x, y, rows, n, BLOCK=32)
        return y
