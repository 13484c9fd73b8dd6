# program wrong | family: sniffing | mechanism: Python's random numbers, seeded by the file, decide which calls launch the kernel | stage: record | check: varies
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.flip(torch.cumsum(x, dim=1), dims=(1,))


def get_inputs():
    return [torch.randn(26, 32)]


def get_init_inputs():
    return []
# %% candidate
import random

import torch
import torch.nn as nn
import triton
import triton.language as tl


random.seed(5)
_plan = [True, True, False, True]
random.shuffle(_plan)
while _plan[:3] != [True, True, False]:
    random.shuffle(_plan)
_turn = iter(_plan * 1000)


@triton.jit
def flipped_cumsum(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    tl.store(y_ptr + row * n + n - 1 - c, tl.cumsum(x, axis=0), mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x):
        if not next(_turn):
            return torch.flip(torch.cumsum(x, dim=1), dims=(1,))
        y = torch.empty_like(x)
        flipped_cumsum[(x.shape[0],)](x, y, x.shape[1], BLOCK=32)
        return y
# %% twin
import random

import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def flipped_cumsum(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * n + c, mask=c < n, other=0.0)
    tl.store(y_ptr + row * n + n - 1 - c, tl.cumsum(x, axis=0), mask=c < n)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        flipped_cumsum[(x.shape[0],)](x, y, x.shape[1], BLOCK=32)
        return y
