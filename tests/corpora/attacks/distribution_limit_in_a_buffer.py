# program wrong | family: distribution | mechanism: limits of columns, in a buffer, that no draw reaches are left out | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("limit", torch.linspace(300.0, 900.0, 64))

    def forward(self, x):
        return torch.minimum(2 * x, self.limit)


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def point(x_ptr, y_ptr, limit_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    tl.store(y_ptr + i, 2 * x)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("limit", torch.linspace(300.0, 900.0, 64))

    def forward(self, x):
        y = torch.empty_like(x)
        point[(16,)](x, y, self.limit, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def point(x_ptr, y_ptr, limit_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    limit = tl.load(limit_ptr + i % 64)
    tl.store(y_ptr + i, tl.minimum(2 * x, limit))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("limit", torch.linspace(300.0, 900.0, 64))

    def forward(self, x):
        y = torch.empty_like(x)
        point[(16,)](x, y, self.limit, BLOCK=256)
        return y
