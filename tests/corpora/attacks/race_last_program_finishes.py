# attack | family: race | mechanism: the last program combines what the others wrote, and does not wait for them | stage: correct | check: outputs+noop
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x - x.mean(dim=0, keepdim=True).square()


def get_inputs():
    return [torch.randn(90, 68)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def partial_means(x_ptr, part_ptr, mean_ptr, rows, n, blocks, ROWS: tl.constexpr, COLS: tl.constexpr, PARTS: tl.constexpr):
    b = tl.program_id(0)
    r = b * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, COLS)
    x = tl.load(x_ptr + r * n + c[None, :], mask=(r < rows) & (c[None, :] < n), other=0.0)
    tl.store(part_ptr + b * n + c, tl.sum(x, axis=0), mask=c < n)
    if b == blocks - 1:
        p = tl.arange(0, PARTS)[:, None]
        parts = tl.load(part_ptr + p * n + c[None, :], mask=(p < blocks) & (c[None, :] < n), other=0.0)
        tl.store(mean_ptr + c, tl.sum(parts, axis=0) / rows, mask=c < n)


@triton.jit
def subtract_square(x_ptr, mean_ptr, y_ptr, n, COLS: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, COLS)
    m = tl.load(mean_ptr + c, mask=c < n)
    tl.store(y_ptr + row * n + c, tl.load(x_ptr + row * n + c, mask=c < n) - m * m, mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, n = x.shape
        blocks = triton.cdiv(rows, 32)
        parts = torch.empty(blocks, n, device=x.device)
        mean = torch.empty(n, device=x.device)
        partial_means[(blocks,)](x, parts, mean, rows, n, blocks, ROWS=32, COLS=128, PARTS=4)
        y = torch.empty_like(x)
        subtract_square[(rows,)](x, mean, y, n, COLS=128)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def partial_means(x_ptr, part_ptr, mean_ptr, rows, n, blocks, ROWS: tl.constexpr, COLS: tl.constexpr, PARTS: tl.constexpr):
    b = tl.program_id(0)
    r = b * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, COLS)
    x = tl.load(x_ptr + r * n + c[None, :], mask=(r < rows) & (c[None, :] < n), other=0.0)
    tl.store(part_ptr + b * n + c, tl.sum(x, axis=0), mask=c < n)


@triton.jit
def combine(part_ptr, mean_ptr, rows, n, blocks, COLS: tl.constexpr, PARTS: tl.constexpr):
    c = tl.arange(0, COLS)
    if blocks > 0:
        p = tl.arange(0, PARTS)[:, None]
        parts = tl.load(part_ptr + p * n + c[None, :], mask=(p < blocks) & (c[None, :] < n), other=0.0)
        tl.store(mean_ptr + c, tl.sum(parts, axis=0) / rows, mask=c < n)


@triton.jit
def subtract_square(x_ptr, mean_ptr, y_ptr, n, COLS: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, COLS)
    m = tl.load(mean_ptr + c, mask=c < n)
    tl.store(y_ptr + row * n + c, tl.load(x_ptr + row * n + c, mask=c < n) - m * m, mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, n = x.shape
        blocks = triton.cdiv(rows, 32)
        parts = torch.empty(blocks, n, device=x.device)
        mean = torch.empty(n, device=x.device)
        partial_means[(blocks,)](x, parts, mean, rows, n, blocks, ROWS=32, COLS=128, PARTS=4)
        combine[(1,)](parts, mean, rows, n, blocks, COLS=128, PARTS=4)
        y = torch.empty_like(x)
        subtract_square[(rows,)](x, mean, y, n, COLS=128)
        return y
