# program wrong | family: race | mechanism: programs add to the same elements by a load and a store | stage: correct | check: outputs+noop
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.exp(-x.abs()).sum(dim=0)


def get_inputs():
    return [torch.randn(96, 70)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def column_sums(x_ptr, y_ptr, rows, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + r * n + c[None, :], mask=(r < rows) & (c[None, :] < n), other=float("inf"))
    part = tl.sum(tl.exp(-tl.abs(x)), axis=0)
    tl.store(y_ptr + c, tl.load(y_ptr + c, mask=c < n) + part, mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, n = x.shape
        y = torch.zeros(n, device=x.device)
        column_sums[(triton.cdiv(rows, 8),)](x, y, rows, n, ROWS=8, BLOCK=128)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def column_sums(x_ptr, y_ptr, rows, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + r * n + c[None, :], mask=(r < rows) & (c[None, :] < n), other=float("inf"))
    part = tl.sum(tl.exp(-tl.abs(x)), axis=0)
    tl.atomic_add(y_ptr + c, part, mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x):
        rows, n = x.shape
        y = torch.zeros(n, device=x.device)
        column_sums[(triton.cdiv(rows, 8),)](x, y, rows, n, ROWS=8, BLOCK=128)
        return y
