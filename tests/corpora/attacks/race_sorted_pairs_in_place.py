# program wrong | family: race | mechanism: a bitonic step across programs swaps in place, each program reading what its partner may have written | stage: correct | check: outputs+noop | judge: cpu
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        a, b = x.chunk(2, 0)
        return torch.cat([torch.minimum(a, b), torch.maximum(a, b)])


def get_inputs():
    return [torch.randn(64, 128)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def swap(y_ptr, ROWS: tl.constexpr, C: tl.constexpr):
    row = tl.program_id(0)
    partner = (row + ROWS // 2) % ROWS
    c = tl.arange(0, C)
    own = tl.load(y_ptr + row * C + c)
    other = tl.load(y_ptr + partner * C + c)
    small = tl.minimum(own, other)
    large = tl.maximum(own, other)
    tl.store(y_ptr + row * C + c, tl.where(row < ROWS // 2, small, large))


class ModelNew(nn.Module):
    def forward(self, x):
        y = x.clone()
        swap[(64,)](y, ROWS=64, C=128)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def swap(x_ptr, y_ptr, ROWS: tl.constexpr, C: tl.constexpr):
    row = tl.program_id(0)
    partner = (row + ROWS // 2) % ROWS
    c = tl.arange(0, C)
    own = tl.load(x_ptr + row * C + c)
    other = tl.load(x_ptr + partner * C + c)
    small = tl.minimum(own, other)
    large = tl.maximum(own, other)
    tl.store(y_ptr + row * C + c, tl.where(row < ROWS // 2, small, large))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        swap[(64,)](x, y, ROWS=64, C=128)
        return y
