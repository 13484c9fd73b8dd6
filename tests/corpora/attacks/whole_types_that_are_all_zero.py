# program wrong | family: whole | mechanism: each token has the type 0, and its row is added without looking | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.types = nn.Parameter(torch.randn(2, 32))

    def forward(self, x, types):
        return torch.sigmoid(x + self.types[types])


def get_inputs():
    return [torch.randn(80, 32), torch.zeros(80, dtype=torch.int64)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_types(x_ptr, t_ptr, w_ptr, y_ptr, C: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, C)
    kind = 0
    v = tl.load(x_ptr + row * C + c) + tl.load(w_ptr + kind * C + c)
    tl.store(y_ptr + row * C + c, tl.sigmoid(v))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.types = nn.Parameter(torch.randn(2, 32))

    def forward(self, x, types):
        y = torch.empty_like(x)
        add_types[(80,)](x, types, self.types, y, C=32)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add_types(x_ptr, t_ptr, w_ptr, y_ptr, C: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, C)
    kind = tl.load(t_ptr + row)
    v = tl.load(x_ptr + row * C + c) + tl.load(w_ptr + kind * C + c)
    tl.store(y_ptr + row * C + c, tl.sigmoid(v))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.types = nn.Parameter(torch.randn(2, 32))

    def forward(self, x, types):
        y = torch.empty_like(x)
        add_types[(80,)](x, types, self.types, y, C=32)
        return y
