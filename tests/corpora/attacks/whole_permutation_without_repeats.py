# program wrong | family: whole | mechanism: rows are stored where they should be added, and the drawn places never repeat | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, places):
        return torch.zeros_like(x).index_add(0, places, x * x)


def get_inputs():
    return [torch.randn(64, 32), torch.randperm(64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def put(x_ptr, p_ptr, y_ptr, C: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + row * C + c)
    at = tl.load(p_ptr + row)
    tl.store(y_ptr + at * C + c, x * x)


class ModelNew(nn.Module):
    def forward(self, x, places):
        y = torch.zeros_like(x)
        put[(64,)](x, places, y, C=32)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def put(x_ptr, p_ptr, y_ptr, C: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + row * C + c)
    at = tl.load(p_ptr + row)
    tl.atomic_add(y_ptr + at * C + c, x * x)


class ModelNew(nn.Module):
    def forward(self, x, places):
        y = torch.zeros_like(x)
        put[(64,)](x, places, y, C=32)
        return y
