# program wrong | family: excess | mechanism: tens of thousands of tensors that nobody uses are allocated before the launch | stage: record | check: work
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * 3


def get_inputs():
    return [torch.randn(1024)]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def triple(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, 3 * tl.load(x_ptr + i))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        for _ in range(18000):
            torch.empty(8, device=x.device)
        triple[(4,)](x, y, BLOCK=256)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def triple(x_ptr, y_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, 3 * tl.load(x_ptr + i))


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        triple[(4,)](x, y, BLOCK=256)
        return y
