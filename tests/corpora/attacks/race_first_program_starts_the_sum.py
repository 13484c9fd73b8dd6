# program wrong | family: race | mechanism: the first program stores a long sum that the others add to | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, past):
        return torch.exp(-x.abs()).sum(dim=0) + past.sum(dim=0)


def get_inputs():
    return [torch.randn(96, 70), torch.randn(300, 70)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def column_sums(x_ptr, past_ptr, y_ptr, rows, past, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        total = tl.zeros((BLOCK,), tl.float32)
        for k in range(past):
            total += tl.load(past_ptr + k * n + c, mask=c < n, other=0.0)
        tl.store(y_ptr + c, total, mask=c < n)
    x = tl.load(x_ptr + r * n + c[None, :], mask=(r < rows) & (c[None, :] < n), other=float("inf"))
    tl.atomic_add(y_ptr + c, tl.sum(tl.exp(-tl.abs(x)), axis=0), mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x, past):
        rows, n = x.shape
        y = torch.empty(n, device=x.device)
        column_sums[(triton.cdiv(rows, 32),)](x, past, y, rows, past.shape[0], n, ROWS=32, BLOCK=128)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def column_sums(x_ptr, past_ptr, y_ptr, rows, past, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        total = tl.zeros((BLOCK,), tl.float32)
        for k in range(past):
            total += tl.load(past_ptr + k * n + c, mask=c < n, other=0.0)
        tl.atomic_add(y_ptr + c, total, mask=c < n)
    x = tl.load(x_ptr + r * n + c[None, :], mask=(r < rows) & (c[None, :] < n), other=float("inf"))
    tl.atomic_add(y_ptr + c, tl.sum(tl.exp(-tl.abs(x)), axis=0), mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x, past):
        rows, n = x.shape
        y = torch.zeros(n, device=x.device)
        column_sums[(triton.cdiv(rows, 32),)](x, past, y, rows, past.shape[0], n, ROWS=32, BLOCK=128)
        return y
