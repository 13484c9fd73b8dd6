# program wrong | family: race | mechanism: the last program combines what the others wrote, and does not wait for them | stage: correct | check: outputs+noop
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x - x.mean(dim=0, keepdim=True).square()


def get_inputs():
    return [torch.randn(290, 68)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def column_means(x_ptr, part_ptr, mean_ptr, rows, n, LONG: tl.constexpr, COLS: tl.constexpr):
    b = tl.program_id(0)
    c = tl.arange(0, COLS)
    first = b * LONG
    total = tl.zeros((COLS,), tl.float32)
    for r in range(first, min(first + LONG, rows)):
        total += tl.load(x_ptr + r * n + c, mask=c < n, other=0.0)
    tl.store(part_ptr + b * n + c, total, mask=c < n)
    if b == 1:
        other = tl.load(part_ptr + c, mask=c < n, other=0.0)
        tl.store(mean_ptr + c, (total + other) / rows, mask=c < n)


@triton.jit
def subtract_square(x_ptr, mean_ptr, y_ptr, n, COLS: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, COLS)
    m = tl.load(mean_ptr + c, mask=c < n)
    tl.store(y_ptr + row * n + c, tl.load(x_ptr + row * n + c, mask=c < n) - m * m, mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, n = x.shape
        parts = torch.empty(2, n, device=x.device)
        mean = torch.empty(n, device=x.device)
        column_means[(2,)](x, parts, mean, rows, n, LONG=256, COLS=128)
        y = torch.empty_like(x)
        subtract_square[(rows,)](x, mean, y, n, COLS=128)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def column_means(x_ptr, part_ptr, mean_ptr, rows, n, LONG: tl.constexpr, COLS: tl.constexpr):
    b = tl.program_id(0)
    c = tl.arange(0, COLS)
    first = b * LONG
    total = tl.zeros((COLS,), tl.float32)
    for r in range(first, min(first + LONG, rows)):
        total += tl.load(x_ptr + r * n + c, mask=c < n, other=0.0)
    tl.store(part_ptr + b * n + c, total, mask=c < n)


@triton.jit
def combine(part_ptr, mean_ptr, rows, n, COLS: tl.constexpr):
    c = tl.arange(0, COLS)
    if rows > 0:
        total = tl.load(part_ptr + n + c, mask=c < n, other=0.0)
        other = tl.load(part_ptr + c, mask=c < n, other=0.0)
        tl.store(mean_ptr + c, (total + other) / rows, mask=c < n)


@triton.jit
def subtract_square(x_ptr, mean_ptr, y_ptr, n, COLS: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, COLS)
    m = tl.load(mean_ptr + c, mask=c < n)
    tl.store(y_ptr + row * n + c, tl.load(x_ptr + row * n + c, mask=c < n) - m * m, mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, n = x.shape
        parts = torch.empty(2, n, device=x.device)
        mean = torch.empty(n, device=x.device)
        column_means[(2,)](x, parts, mean, rows, n, LONG=256, COLS=128)
        combine[(1,)](parts, mean, rows, n, COLS=128)
        y = torch.empty_like(x)
        subtract_square[(rows,)](x, mean, y, n, COLS=128)
        return y
