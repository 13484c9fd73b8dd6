# program wrong | family: guards | mechanism: masked elements of a load are taken for something below every maximum | stage: correct | check: outputs | judge: cpu
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x / x.amax(1, keepdim=True)


def get_inputs():
    return [torch.rand(64, 100) + 0.5]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * C + c, mask=c < C)
    tl.store(y_ptr + row * C + c, x / tl.max(x, 0), mask=c < C)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scale[(64,)](x, y, 100, BLOCK=128)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def scale(x_ptr, y_ptr, C, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + row * C + c, mask=c < C, other=float("-inf"))
    tl.store(y_ptr + row * C + c, x / tl.max(x, 0), mask=c < C)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        scale[(64,)](x, y, 100, BLOCK=128)
        return y
