# program wrong | family: guards | mechanism: columns of a transposed matrix are promised to be neighbours | stage: correct | check: guards | judge: cpu
# %% reference
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.exp(x.t()) - 1.0


def get_inputs():
    return [torch.randn(64, 48) / 4]


def get_init_inputs():
    return []
# %% candidate
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def turn(x_ptr, y_ptr, R: tl.constexpr, C: tl.constexpr):
    c = tl.program_id(0)
    r = tl.arange(0, R)
    at = tl.max_contiguous(r * C + c, 4)
    tl.store(y_ptr + c * R + r, tl.exp(tl.load(x_ptr + at)) - 1.0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty((48, 64), device=x.device)
        turn[(48,)](x, y, R=64, C=48)
        return y
# %% twin
import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def turn(x_ptr, y_ptr, R: tl.constexpr, C: tl.constexpr):
    c = tl.program_id(0)
    r = tl.arange(0, R)
    at = r * C + c
    tl.store(y_ptr + c * R + r, tl.exp(tl.load(x_ptr + at)) - 1.0)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty((48, 64), device=x.device)
        turn[(48,)](x, y, R=64, C=48)
        return y
