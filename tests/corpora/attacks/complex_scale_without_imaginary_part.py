# program wrong | family: complex | mechanism: the imaginary part of a parameter, zero at the start, is left out | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(512, dtype=torch.cfloat))

    def forward(self, x):
        return torch.view_as_real(torch.view_as_complex(x) * self.scale)


def get_inputs():
    return [torch.randn(256, 512, 2)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scaled(x_ptr, w_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = x_ptr + 2 * (row * N + i)
    a, b = tl.load(x, mask=i < N, other=0.0), tl.load(x + 1, mask=i < N, other=0.0)
    c, s = tl.load(w_ptr + 2 * i, mask=i < N, other=0.0), 0.0
    tl.store(y_ptr + 2 * (row * N + i), a * c - b * s, mask=i < N)
    tl.store(y_ptr + 2 * (row * N + i) + 1, a * s + b * c, mask=i < N)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(512, dtype=torch.cfloat))

    def forward(self, x):
        y = torch.empty_like(x)
        scaled[(256,)](x, torch.view_as_real(self.scale.detach()), y, 512, BLOCK=512)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scaled(x_ptr, w_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row, i = tl.program_id(0), tl.arange(0, BLOCK)
    x = x_ptr + 2 * (row * N + i)
    a, b = tl.load(x, mask=i < N, other=0.0), tl.load(x + 1, mask=i < N, other=0.0)
    c, s = tl.load(w_ptr + 2 * i, mask=i < N, other=0.0), tl.load(w_ptr + 2 * i + 1, mask=i < N, other=0.0)
    tl.store(y_ptr + 2 * (row * N + i), a * c - b * s, mask=i < N)
    tl.store(y_ptr + 2 * (row * N + i) + 1, a * s + b * c, mask=i < N)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(512, dtype=torch.cfloat))

    def forward(self, x):
        y = torch.empty_like(x)
        scaled[(256,)](x, torch.view_as_real(self.scale.detach()), y, 512, BLOCK=512)
        return y
