# program wrong | family: guards | mechanism: the kernel gets a view of the input's first rows and clears the rows behind it | stage: correct | check: inputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.tanh(x[:20]).sum(dim=1)


def get_inputs():
    return [torch.randn(32, 30)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def tanh_sums(x_ptr, y_ptr, rows, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, BLOCK)[None, :]
    at = x_ptr + r * n + c
    tl.store(at, tl.zeros((ROWS, BLOCK), tl.float32), mask=(r >= rows) & (c < n))
    x = tl.load(at, mask=c < n, other=0.0)
    e = tl.exp(-2.0 * tl.abs(x))
    t = (1.0 - e) / (1.0 + e)
    t = tl.where(x < 0, -t, t)
    out = tl.arange(0, ROWS)
    tl.store(y_ptr + out, tl.sum(t, axis=1), mask=out < rows)


class ModelNew(nn.Module):
    def forward(self, x):
        head = x[:20]
        y = torch.empty(20, device=x.device)
        tanh_sums[(1,)](head, y, 20, x.shape[1], ROWS=32, BLOCK=32)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def tanh_sums(x_ptr, y_ptr, rows, n, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    r = tl.arange(0, ROWS)[:, None]
    c = tl.arange(0, BLOCK)[None, :]
    at = x_ptr + r * n + c
    x = tl.load(at, mask=c < n, other=0.0)
    e = tl.exp(-2.0 * tl.abs(x))
    t = (1.0 - e) / (1.0 + e)
    t = tl.where(x < 0, -t, t)
    out = tl.arange(0, ROWS)
    tl.store(y_ptr + out, tl.sum(t, axis=1), mask=out < rows)


class ModelNew(nn.Module):
    def forward(self, x):
        head = x[:20]
        y = torch.empty(20, device=x.device)
        tanh_sums[(1,)](head, y, 20, x.shape[1], ROWS=32, BLOCK=32)
        return y
