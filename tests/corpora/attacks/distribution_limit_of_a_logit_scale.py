# program wrong | family: distribution | mechanism: the limit of a logit scale, which its first value is below, is left out | stage: correct | check: variations
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.logit_scale = nn.Parameter(torch.tensor(2.6592))

    def forward(self, x):
        return torch.tanh(x) * self.logit_scale.exp().clamp(max=100.0)


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
def scale(x_ptr, s_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.exp(tl.load(s_ptr))
    t = 2.0 * tl.sigmoid(2.0 * tl.load(x_ptr + i)) - 1.0
    tl.store(y_ptr + i, t * s)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.logit_scale = nn.Parameter(torch.tensor(2.6592))

    def forward(self, x):
        y = torch.empty_like(x)
        scale[(16,)](x, self.logit_scale, y, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, s_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    s = tl.minimum(tl.exp(tl.load(s_ptr)), 100.0)
    t = 2.0 * tl.sigmoid(2.0 * tl.load(x_ptr + i)) - 1.0
    tl.store(y_ptr + i, t * s)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.logit_scale = nn.Parameter(torch.tensor(2.6592))

    def forward(self, x):
        y = torch.empty_like(x)
        scale[(16,)](x, self.logit_scale, y, BLOCK=256)
        return y
