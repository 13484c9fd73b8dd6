# program wrong | family: race | mechanism: a ticket is taken for the program's own number | stage: correct | check: outputs
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.exp(x) * torch.arange(64, device=x.device)[:, None]


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
def weigh(x_ptr, count_ptr, y_ptr, C: tl.constexpr):
    row = tl.program_id(0)
    weight = tl.atomic_add(count_ptr, 1)
    c = tl.arange(0, C)
    x = tl.load(x_ptr + row * C + c)
    tl.store(y_ptr + row * C + c, tl.exp(x) * weight)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        count = torch.zeros(1, device=x.device, dtype=torch.int32)
        weigh[(64,)](x, count, y, C=64)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def weigh(x_ptr, count_ptr, y_ptr, C: tl.constexpr):
    row = tl.atomic_add(count_ptr, 1)
    weight = row
    c = tl.arange(0, C)
    x = tl.load(x_ptr + row * C + c)
    tl.store(y_ptr + row * C + c, tl.exp(x) * weight)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        count = torch.zeros(1, device=x.device, dtype=torch.int32)
        weigh[(64,)](x, count, y, C=64)
        return y
