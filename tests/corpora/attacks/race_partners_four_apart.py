# program wrong | family: race | mechanism: programs four apart exchange their sums without waiting | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x - x.mean(1, keepdim=True)


def get_inputs():
    return [torch.randn(32, 256)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def centre(x_ptr, part_ptr, y_ptr, HALF: tl.constexpr):
    p = tl.program_id(0)
    half = (p // 4) % 2
    row = (p // 8) * 4 + p % 4
    c = half * HALF + tl.arange(0, HALF)
    x = tl.load(x_ptr + row * (2 * HALF) + c)
    tl.store(part_ptr + row * 2 + half, tl.sum(x, 0))
    total = tl.load(part_ptr + row * 2) + tl.load(part_ptr + row * 2 + 1)
    tl.store(y_ptr + row * (2 * HALF) + c, x - total / (2 * HALF))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        part = torch.empty((32, 2), device=x.device)
        centre[(64,)](x, part, y, HALF=128)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def centre(x_ptr, part_ptr, y_ptr, HALF: tl.constexpr):
    p = tl.program_id(0)
    half = (p // 4) % 2
    row = (p // 8) * 4 + p % 4
    c = half * HALF + tl.arange(0, HALF)
    x = tl.load(x_ptr + row * (2 * HALF) + c)
    other = (1 - half) * HALF + tl.arange(0, HALF)
    total = tl.sum(x, 0) + tl.sum(tl.load(x_ptr + row * (2 * HALF) + other), 0)
    tl.store(y_ptr + row * (2 * HALF) + c, x - total / (2 * HALF))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        part = torch.empty((32, 2), device=x.device)
        centre[(64,)](x, part, y, HALF=128)
        return y
