# program wrong | family: race | mechanism: several programs write each element, and the one of the highest number is right | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.tanh(x) + x.max(1, keepdim=True).values


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
def add(x_ptr, y_ptr, C: tl.constexpr, PART: tl.constexpr):
    row = tl.program_id(0) // (C // PART)
    step = tl.program_id(0) % (C // PART)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + row * C + c)
    seen = c < (step + 1) * PART
    high = tl.max(tl.where(seen, x, float("-inf")), 0)
    t = 2.0 * tl.sigmoid(2.0 * x) - 1.0
    tl.store(y_ptr + row * C + c, t + high)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        add[(64 * 4,)](x, y, C=128, PART=32)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def add(x_ptr, y_ptr, C: tl.constexpr, PART: tl.constexpr):
    row = tl.program_id(0) // (C // PART)
    step = tl.program_id(0) % (C // PART)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + row * C + c)
    seen = c < C
    high = tl.max(tl.where(seen, x, float("-inf")), 0)
    t = 2.0 * tl.sigmoid(2.0 * x) - 1.0
    tl.store(y_ptr + row * C + c, t + high)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        add[(64 * 4,)](x, y, C=128, PART=32)
        return y
